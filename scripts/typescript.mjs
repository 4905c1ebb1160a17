// Lets Node run the sources as they are: node --import ./scripts/typescript.mjs file.ts
import { registerHooks } from 'node:module'

// They import one another under the names that the compiled files will have. Benchmarks import the compiled files.
registerHooks({
  resolve: (specifier, context, next) =>
    /^\.(?!.*\/dist\/).*\.js$/.test(specifier) && context.parentURL?.endsWith('.ts')
      ? // Without the file accesses of Node's own search, which take a third of the time of an import.
        {
          url: new URL(`${specifier.slice(0, -3)}.ts`, context.parentURL).href,
          format: 'module-typescript',
          shortCircuit: true,
        }
      : next(specifier, context),
})

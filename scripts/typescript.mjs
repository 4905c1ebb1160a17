// Lets Node run the sources as they are: node --import ./scripts/typescript.mjs file.ts
import { registerHooks } from 'node:module'

// They import one another under the names that the compiled files will have.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier.startsWith('.') && context.parentURL?.endsWith('.ts')
      ? next(specifier.replace(/\.js$/, '.ts'), context)
      : next(specifier, context),
})

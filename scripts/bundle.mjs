// Puts the packages that only the command line uses into dist, so that users of the library do not install them.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const dist = new URL('../dist/cli/', import.meta.url)
const file = fileURLToPath(new URL('bundled.js', dist))

const bundle = await rolldown({
  input: file,
  platform: 'node',
  external: /^node:/,
  onLog(_level, log) {
    throw new Error(`scripts/bundle.mjs: ${log.message}`) // An import that is not found, for instance.
  },
})
const { output } = await bundle.generate({ format: 'esm' })
await bundle.close()
const [entry, ...rest] = output
if (rest.length > 0) throw new Error('scripts/bundle.mjs: expected one file')
writeFileSync(file, entry.code)

// The licences of both ask for it.
const names = new Set(entry.moduleIds.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []))
const licenses = [...names].sort().map((name) => {
  const text = readFileSync(new URL(`../node_modules/${name}/LICENSE`, import.meta.url), 'utf8')
  return `bundled.js contains ${name}:\n\n${text.trim()}\n`
})
writeFileSync(new URL('bundled.LICENSE.txt', dist), licenses.join('\n\n'))

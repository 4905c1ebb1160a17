// Puts the packages that only the command line and the inspector's page use into dist, so that users of the library do
// not install them.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const cli = new URL('../dist/cli/', import.meta.url)
await bundle({ input: new URL('bundled.js', cli), platform: 'node', output: new URL('bundled.js', cli) })

const source = new URL('../inspector/page/', import.meta.url)
const page = new URL('../dist/inspector/page/', import.meta.url)
mkdirSync(page, { recursive: true })
await bundle({ input: new URL('page.tsx', source), platform: 'browser', output: new URL('page.js', page) })
for (const name of ['index.html', 'icon.svg', 'page.css']) copyFileSync(new URL(name, source), new URL(name, page))

/** Writes one module with everything that it imports, and the licences of the packages in it, which ask for that. */
async function bundle({ input, platform, output }) {
  const bundled = await rolldown({
    input: fileURLToPath(input),
    platform,
    external: platform === 'node' ? /^node:/ : [],
    onLog(_level, log) {
      throw new Error(`scripts/bundle.mjs: ${log.message}`) // An import that is not found, for instance.
    },
  })
  const { output: files } = await bundled.generate({ format: 'esm', minify: platform === 'browser' })
  await bundled.close()
  const [entry, ...rest] = files
  if (rest.length > 0) throw new Error('scripts/bundle.mjs: expected one file')
  writeFileSync(output, entry.code)
  const names = new Set(entry.moduleIds.flatMap((id) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? []))
  const licenses = [...names].sort().map((name) => {
    const text = readFileSync(new URL(`../node_modules/${name}/LICENSE`, import.meta.url), 'utf8')
    return `${output.pathname.split('/').at(-1)} contains ${name}:\n\n${text.trim()}\n`
  })
  writeFileSync(new URL(output.href.replace(/\.js$/, '.LICENSE.txt')), licenses.join('\n\n'))
}

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { root, textOf } from './sources.js'

/** The folder of the accepted copies. */
const ACCEPTED = 'test/public-api'

/** The declaration files that users can reach by the package's exports, by their path under `dist`. */
export function publicDeclarations(): Map<string, string> {
  const { exports } = JSON.parse(textOf('package.json')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  const reached = new Map<string, string>()
  const visit = (path: string): void => {
    if (reached.has(path)) return
    const text = textOf(join('dist', path))
    reached.set(path, text)
    for (const [, imported = ''] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)\.js['"]/g)) {
      visit(normalize(join(dirname(path), `${imported}.d.ts`)))
    }
  }
  for (const entry of Object.values(exports)) {
    if (typeof entry !== 'string') visit(normalize(entry.types).replace(/^dist\//, ''))
  }
  return reached
}

export function acceptedDeclarations(): Map<string, string> {
  const directory = join(root, ACCEPTED)
  if (!existsSync(directory)) return new Map()
  return new Map(
    readdirSync(directory, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.d.ts'))
      .map((path) => [path, readFileSync(join(directory, path), 'utf8')]),
  )
}

/** Makes the accepted copies what the package declares now. */
export function accept(): void {
  const declared = publicDeclarations()
  rmSync(join(root, ACCEPTED), { recursive: true, force: true })
  for (const [path, text] of declared) {
    mkdirSync(join(root, ACCEPTED, dirname(path)), { recursive: true })
    writeFileSync(join(root, ACCEPTED, path), text)
  }
}

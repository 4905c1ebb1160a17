import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('../..', import.meta.url))

/** The folders whose code the package ships. */
export const PRODUCT: readonly string[] = 'src adapters serving caches inspector telemetry bindings testing cli'.split(
  ' ',
)

/** The files under these directories that end so, by their paths from the root. */
export function filesUnder(directories: readonly string[], ending: string): string[] {
  return directories
    .flatMap((directory) =>
      readdirSync(join(root, directory), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
        .map((entry) => join(entry.parentPath.slice(root.length), entry.name)),
    )
    .sort()
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** The text without its comments. */
export function codeOf(path: string): string {
  return textOf(path)
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '$1')
}

/** What a TypeScript file imports, types too: paths from the root for files of ours, names for the rest. */
export function importsOf(path: string, code: string = codeOf(path)): string[] {
  const statements = /(?:\bfrom\s+|\bimport\s+|\bimport\(\s*)['"]([^'"]+)['"]/g
  return Array.from(code.matchAll(statements), ([, name = '']) =>
    name.startsWith('.') ? sourceOf(normalize(join(dirname(path), name))) : name,
  )
}

/** The TypeScript file of an imported path. */
function sourceOf(imported: string): string {
  const page = imported.replace(/\.js$/, '.tsx')
  return existsSync(join(root, page)) ? page : imported.replace(/\.js$/, '.ts')
}

import { dirname, join, normalize } from 'node:path'
import { textOf } from './sources.js'

/** The texts of declaration files, by their paths under `dist`. */
export type Declarations = ReadonlyMap<string, string>

/** A public symbol, with the lines of the file that declares it. */
export interface Declared {
  readonly name: string
  readonly path: string
  readonly lines: readonly string[]
  /** The number of its first line, from 0. */
  readonly at: number
}

export interface EntryPoint {
  /** What a program imports: `listwatch/redis`. */
  readonly specifier: string
  /** Its declaration file. */
  readonly path: string
}

/** The entry points of package.json that are modules. */
export function entryPoints(): EntryPoint[] {
  const { name, exports } = JSON.parse(textOf('package.json')) as {
    readonly name: string
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>
  }
  return Object.entries(exports).flatMap(([path, entry]) =>
    typeof entry === 'string'
      ? []
      : [{ specifier: join(name, path), path: normalize(entry.types).replace(/^dist\//, '') }],
  )
}

/** The names that an entry point exports, each with the file that it comes from. */
export function exportsOf(path: string, declarations: Declarations): (readonly [name: string, from: string])[] {
  const found: (readonly [string, string])[] = []
  const text = declarations.get(path) ?? ''
  for (const [, names = '', from = ''] of text.matchAll(/export (?:type )?\{([^}]*)\} from '([^']+)'/g)) {
    const file = join(dirname(path), from.replace(/\.js$/, '.d.ts'))
    for (const each of names.split(',')) {
      const [name = ''] = each
        .trim()
        .replace(/^type /, '')
        .split(' as ')
      if (name !== '') found.push([name, file])
    }
  }
  for (const [, from = ''] of text.matchAll(/export \* from '([^']+)'/g)) {
    const file = join(dirname(path), from.replace(/\.js$/, '.d.ts'))
    const names = (declarations.get(file) ?? '').matchAll(/^export (?:declare )?(?:abstract )?\w+ (\w+)/gm)
    for (const [, name = ''] of names) found.push([name, file])
  }
  for (const [, name = ''] of text.matchAll(
    /^export (?:declare )?(?:abstract )?(?:class|interface|function|type|const) (\w+)/gm,
  ))
    found.push([name, path])
  return [...new Map(found).entries()]
}

/** The declarations of a name in a file, or in the file that it is imported from. */
export function declarationsOf(name: string, path: string, declarations: Declarations): Declared[] {
  const lines = (declarations.get(path) ?? '').split('\n')
  const starts = lines.flatMap((line, at) =>
    new RegExp(`^export (?:declare )?(?:abstract )?(?:class|interface|function|type|const) ${name}\\b`).test(line)
      ? [at]
      : [],
  )
  if (starts.length > 0) return starts.map((at) => ({ name, path, lines, at }))
  const again = exportsOf(path, declarations).find(([each]) => each === name)
  return again === undefined ? [] : declarationsOf(...again, declarations)
}

/** A docstring, by its parts. */
export interface Docstring {
  /** Markdown. */
  readonly prose: string
  /** What follows `@returns`, in one line. */
  readonly returns: readonly string[]
  /** What follows each `@throws`, in one line. */
  readonly throws: readonly string[]
  /** What follows each `@example`, in Markdown. */
  readonly examples: readonly string[]
}

/** The docstring above a declaration. */
export function docstringOf({ lines, at }: Declared): Docstring {
  if (!/\*\/$/.test(lines[at - 1] ?? '')) return { prose: '', returns: [], throws: [], examples: [] }
  const start = lines.findLastIndex((line, n) => n < at && /^\s*\/\*\*/.test(line))
  const text = lines
    .slice(start, at)
    .join('\n')
    .replace(/^\s*\/\*\*\s?|\s*\*\/$/g, '')
    .replace(/^\s*\* ?/gm, '')
  const [prose = '', ...tags] = text.split(/^(?=@\w+)/m)
  const after = (tag: string): string[] =>
    tags.filter((each) => each.startsWith(`@${tag}`)).map((each) => each.slice(tag.length + 1).trim())
  const linesAfter = (tag: string): string[] => after(tag).map((each) => each.replace(/\s+/g, ' '))
  return {
    prose: prose.trim(),
    returns: linesAfter('returns'),
    throws: linesAfter('throws'),
    examples: after('example'),
  }
}

/** The lines of a declaration, without `export declare` and private members. */
export function signatureOf({ lines, at }: Declared): string {
  let depth = 0
  const end = lines.findIndex((line, n) => {
    if (n < at || /^\s*(\/\*\*|\*)/.test(line)) return false
    depth += (line.match(/[{([]/g) ?? []).length - (line.match(/[})\]]/g) ?? []).length
    return depth === 0 && /[;}]$/.test(line)
  })
  return lines
    .slice(at, end + 1)
    .filter((line) => !/^\s*(#private;|private )/.test(line))
    .join('\n')
    .replace(/^export (declare )?/, '')
}

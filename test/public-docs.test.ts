import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { filesUnder, root, textOf } from './support/sources.js'

/** A public symbol, with the lines of its declaration. */
interface Declared {
  readonly name: string
  readonly path: string
  readonly lines: readonly string[]
  /** The number of its first line, from 0. */
  readonly at: number
}

/** The entry points in package.json that are modules. */
const PUBLIC_ENTRY_POINTS = 10

const entryPoints = filesUnder(['test/public-api'], '.d.ts').filter((path) =>
  /(?:src|inspector|testing|(?:adapters|telemetry)\/\w+)\/index\.d\.ts$/.test(path),
)

/** The names that an entry point exports, each with the file that it comes from. */
function exportsOf(path: string): (readonly [name: string, from: string])[] {
  const found: (readonly [string, string])[] = []
  for (const [, names = '', from = ''] of textOf(path).matchAll(/export (?:type )?\{([^}]*)\} from '([^']+)'/g)) {
    const file = join(dirname(path), from.replace(/\.js$/, '.d.ts'))
    for (const each of names.split(',')) {
      const [name = ''] = each
        .trim()
        .replace(/^type /, '')
        .split(' as ')
      if (name !== '') found.push([name, file])
    }
  }
  for (const [, from = ''] of textOf(path).matchAll(/export \* from '([^']+)'/g)) {
    const file = join(dirname(path), from.replace(/\.js$/, '.d.ts'))
    for (const [, name = ''] of textOf(file).matchAll(/^export (?:declare )?(?:abstract )?\w+ (\w+)/gm))
      found.push([name, file])
  }
  return found
}

/** The declarations of a name in a file, or in the file that it is imported from. */
function declarationsOf(name: string, path: string): Declared[] {
  const lines = textOf(path).split('\n')
  const starts = lines.flatMap((line, at) =>
    new RegExp(`^export (?:declare )?(?:abstract )?(?:class|interface|function|type|const) ${name}\\b`).test(line)
      ? [at]
      : [],
  )
  if (starts.length > 0) return starts.map((at) => ({ name, path, lines, at }))
  const again = exportsOf(path).find(([each]) => each === name)
  return again === undefined ? [] : declarationsOf(...again)
}

const declared = entryPoints.flatMap((path) => exportsOf(path).flatMap(([name, from]) => declarationsOf(name, from)))

function isDocumented({ lines }: Declared, at: number): boolean {
  return /\*\/$/.test(lines[at - 1] ?? '')
}

/** The name of the member that begins at a line; undefined for others, for a discriminant, and for a further overload. */
function memberAt({ lines }: Declared, at: number): string | undefined {
  const name = /^ {4}(?:readonly |static |get |set )*(\w+|\[[\w.]+\])\??[(:<]/.exec(lines[at] ?? '')?.[1]
  if (name === undefined || /: ['"][\w-]+['"];$/.test(lines[at] ?? '')) return undefined
  return new RegExp(`^ {4}${name}[(<]`).test(lines[at - 1] ?? '') ? undefined : name
}

/** The members of an interface or a class, each with its line. */
function membersOf(symbol: Declared): (readonly [name: string, line: number])[] {
  const { lines, at } = symbol
  if (!/^export (?:declare )?(?:abstract )?(?:class|interface) /.test(lines[at] ?? '')) return []
  const end = lines.findIndex((line, n) => n >= at && /^\}|\{\s*\}$/.test(line))
  return lines.slice(at + 1, end).flatMap((_line, n) => {
    const name = memberAt(symbol, at + 1 + n)
    return name === undefined ? [] : [[name, at + 1 + n] as const]
  })
}

/** The members of the public interfaces that a class implements: an editor shows their docstrings. */
function inheritedMembers(declaration: string): ReadonlySet<string> {
  const names = new Set(/ implements (.*)\{/.exec(declaration)?.[1]?.match(/\b[A-Z]\w+/g))
  const interfaces = declared.filter(({ name, lines, at }) => names.has(name) && / interface /.test(lines[at] ?? ''))
  return new Set(interfaces.flatMap((symbol) => membersOf(symbol).map(([name]) => name)))
}

function undocumentedMembers(symbol: Declared): string[] {
  const { name, path, lines, at } = symbol
  const inherited = inheritedMembers(lines[at] ?? '')
  return membersOf(symbol)
    .filter(([member, line]) => member !== 'constructor' && !inherited.has(member) && !isDocumented(symbol, line))
    .map(([member]) => `${path}: ${name}.${member}`)
}

describe('the docstrings of the public declarations', () => {
  test('cover every entry point', () => {
    expect(entryPoints.length).toBe(PUBLIC_ENTRY_POINTS)
    expect(entryPoints.filter((path) => !existsSync(join(root, path)))).toEqual([])
    expect(declared.length).toBeGreaterThan(100)
  })

  test('describe every exported symbol', () => {
    const [first] = declared
    expect(first).toBeDefined()
    const overloads = new Set<string>()
    const missing = declared.filter((symbol) => {
      const id = `${symbol.path} ${symbol.name}`
      const isFirst = !overloads.has(id)
      overloads.add(id)
      return isFirst && !isDocumented(symbol, symbol.at)
    })
    expect(missing.map(({ path, name }) => `${path}: ${name}`)).toEqual([])
  })

  test('describe every member of an exported interface or class', () => {
    expect([...new Set(declared.flatMap(undocumentedMembers))]).toEqual([])
  })
})

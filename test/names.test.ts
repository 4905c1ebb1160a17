import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { textOf } from './support/sources.js'

/** The functions that have an option, by its name. public-api.test.ts compares this page with the declarations. */
const functionsOf = new Map<string, string[]>()
for (const section of textOf('docs/reference/options.md').split('\n## ').slice(1)) {
  const [heading = '', ...lines] = section.split('\n')
  const functions = codesIn(heading.split(' of ')[0] ?? '')
  for (const line of lines) {
    const [, option] = /^\| `(\w+)` \|/.exec(line) ?? []
    if (option !== undefined) functionsOf.set(option, [...(functionsOf.get(option) ?? []), ...functions])
  }
}

const pages: readonly string[] = readdirSync('test/public-api').map((file) => textOf(`test/public-api/${file}`))
const exported: readonly string[] = pages.flatMap((page) =>
  Array.from(page.matchAll(/^export (?:declare )?\w+ (\w+)/gm), ([, name = '']) => name),
)

const [, section = ''] = textOf('docs/reference/glossary.md').split(/^## One name for each thing$/m)
const [options = '', functions = ''] = section.split(/^### /m)

/** The rows of the table of options: the concept, its name, and the functions that have the option. */
const rows = Array.from(
  options.matchAll(/^\| ([^|]+) \| `(\w+)` \| ([^|]+) \|$/gm),
  ([, concept = '', name = '', by = '']) => ({ concept, name, by: codesIn(by) }),
)

const RETIRED_OPTIONS: readonly string[] =
  'heartbeatTimeoutMs stallMs progressMs blockMs connection listen shards replicas'.split(' ')
const RETIRED_EXPORTS: readonly string[] =
  'redisCollection redisStream redisKeys serveMirror shareInformer publish'.split(' ')

function codesIn(text: string): string[] {
  return Array.from(text.matchAll(/`(?:new )?([\w…]+)`/g), ([, code = '']) => code)
}

const sources = [...new Set([...functionsOf.values()].flat())].filter((name) => name.endsWith('Source'))
const has = (option: string, name: string): boolean => functionsOf.get(option)?.includes(name) === true

describe('the options that docs/reference/glossary.md names', () => {
  test('are those that the functions declare', () => {
    expect(rows.length).toBeGreaterThan(15)
    for (const { name, concept } of rows) {
      const by = rows.filter((row) => row.name === name).flatMap((row) => row.by)
      expect(by.toSorted(), `${concept}: \`${name}\``).toEqual(functionsOf.get(name)?.toSorted())
    }
  })

  test('have replaced the retired names', () => {
    expect(RETIRED_OPTIONS.filter((name) => functionsOf.has(name))).toEqual([])
  })

  test('include one of those that name the objects on the server, and the way to it, for each source of a server', () => {
    const without = (concept: RegExp): string[] => {
      const names = rows.filter((row) => concept.test(row.concept)).map(({ name }) => name)
      expect(names.length).toBeGreaterThan(2)
      return sources.filter((source) => !names.some((name) => has(name, source)))
    }
    const ofMirrors = ['sharedSource', 'relaySource', 'httpSource', 'memorySource']
    expect(sources.length).toBeGreaterThan(ofMirrors.length + 5)
    expect(without(/^how to reach the server/).toSorted()).toEqual(ofMirrors.toSorted())
    expect(without(/^the objects on the server/).toSorted()).toEqual(ofMirrors.toSorted())
  })

  test('include timeoutMs for each source of a server, and heartbeatMs for each source with a time of its own', () => {
    const ways = rows.filter(({ concept }) => concept.startsWith('how to reach the server'))
    const connecting = sources.filter((source) => ways.some(({ name }) => has(name, source)))
    expect(connecting.filter((source) => !has('timeoutMs', source))).toEqual([])
    // Postgres and SQLite have `pollIntervalMs`, MySQL has a third of `timeoutMs`, and the source of a relay has the time of its store.
    expect(sources.filter((source) => !has('heartbeatMs', source))).toEqual([
      'postgresSource',
      'sqliteSource',
      'mysqlSource',
      'relaySource',
    ])
  })
})

describe('the functions and types that docs/reference/glossary.md names', () => {
  test('are exported: each function that serves has its source, its options and its result', () => {
    const pairs = Array.from(functions.matchAll(/^\| `serve(\w+)` \|([^|\n]+)\|([^|\n]+)\|([^|\n]+)\|$/gm))
    for (const [, kind = '', source = '', ofServe = '', serving = ''] of pairs) {
      const [first = ''] = kind
      expect([source, ofServe, serving].flatMap(codesIn)).toEqual([
        `${first.toLowerCase()}${kind.slice(1)}Source`,
        `Serve${kind}Options`,
        `${kind}Serving`,
      ])
      for (const name of [`serve${kind}`, ...[source, ofServe, serving].flatMap(codesIn)])
        expect(exported, name).toContain(name)
    }
    const serving = exported.filter((name) => /^serve[A-Z]/.test(name) && name !== 'serveInspector')
    expect(pairs.map(([, kind]) => `serve${kind}`).toSorted()).toEqual([...new Set(serving)].toSorted())
  })

  test('end in Source if they return a source, and in SourceOptions if they are its options', () => {
    const declared = pages.flatMap((page) =>
      Array.from(
        page.matchAll(
          /^export declare function (\w+)(?:<[^(]*>)?\((?:[^)]|\)(?!: ))*?\): (?:Readonly<Record<string, )?(\w+)/gm,
        ),
        ([, name = '', type = '']) => ({ name, type }),
      ),
    )
    const returning = declared.filter(({ type }) => type.endsWith('Source') || type === 'ListerWatcher')
    expect(returning.length).toBeGreaterThan(8)
    expect(returning.filter(({ name }) => !name.endsWith('Source'))).toEqual([])
    for (const source of sources)
      expect(exported, source).toContain(`${source[0]?.toUpperCase()}${source.slice(1)}Options`)
  })

  test('have replaced the retired names', () => {
    expect(RETIRED_EXPORTS.filter((name) => exported.includes(name))).toEqual([])
  })
})

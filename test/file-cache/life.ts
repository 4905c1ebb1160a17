import { isDeepStrictEqual } from 'node:util'
import { expect, test, vi } from 'vitest'
import { type FileCacheOptions, fileCache } from '../../caches/file/index.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Change } from '../../src/queue/change.js'
import { waitUntil } from '../servers/wait-until.js'

export interface LifeOptions<T> {
  /** A source of its own, with a client of its own. */
  readonly source: ListerWatcher<T>
  readonly cache: FileCacheOptions
  readonly expected: Readonly<Record<string, unknown>>
  /** What all keys begin with, and is left out. */
  readonly prefix?: string
  /** Whether the mirror is audited, so that an audit may repair it. Default: false. */
  readonly isAudited?: boolean
  /** What of an object is compared. Default: all. */
  readonly view?: (object: T) => unknown
}

/** What a mirror did between its start and its stop. */
export interface Life {
  readonly lists: number
  /** The changes that a handler received: "initial a", "add b", "update a", "delete c". Of initial ones only the order varies. */
  readonly initial: readonly string[]
  readonly changes: readonly string[]
  readonly errors: readonly string[]
  /** The warnings about the cache. */
  readonly warnings: readonly string[]
}

/** Runs a mirror until it has the expected content and its watch is live, and stops it, so that it saves. */
export async function life<T>(options: LifeOptions<T>): Promise<Life> {
  const { source, cache, expected, prefix = '', isAudited = false, view = (object) => object } = options
  const [initial, changes, errors, warnings]: [string[], string[], string[], string[]] = [[], [], [], []]
  const lists = vi.spyOn(source, 'list')
  const logger = { debug() {}, info() {}, warn: (message: string) => void warnings.push(message), error() {} }
  const informer = createInformer<T, object, T>({
    source,
    cache: fileCache(cache),
    ...(isAudited ? {} : { audit: false }),
    logger,
  })
  informer.on('error', ({ code }) => errors.push(code))
  const nameOf = (key: string): string => key.slice(prefix.length)
  const note = ({ type, key, origin }: Change<T>): void =>
    void (origin === 'initial' ? initial.push(nameOf(key)) : changes.push(`${type} ${nameOf(key)}`))
  informer.subscribe({ add: note, update: note, delete: note })
  try {
    informer.start()
    const content = (): unknown =>
      Object.fromEntries(Array.from(informer.entries(), ([key, each]) => [nameOf(key), view(each)]))
    await waitUntil('the content', () => isDeepStrictEqual(content(), expected), 30_000).catch(() => {
      expect({ content: content(), errors, status: informer.status }).toEqual({ content: expected })
    })
    await waitUntil('the watch', () => informer.status.state === 'live', 30_000)
    expect(informer.status.isSynced).toBe(true)
  } finally {
    await informer.stop({ drainMs: 1_000 })
  }
  const { length } = lists.mock.calls
  lists.mockRestore()
  // Old servers are warned of, too.
  return {
    lists: length,
    initial: initial.sort(),
    changes: changes.sort(),
    errors,
    warnings: warnings.filter(isOfCache),
  }
}

function isOfCache(warning: string): boolean {
  return warning.includes('the file is not used')
}

/** What a life is that resumed from this content, without a list. */
export function resumedFrom(keys: readonly string[], changes: readonly string[]): Life {
  return { lists: 0, initial: [...keys].sort(), changes: [...changes].sort(), errors: [], warnings: [] }
}

/** Objects by their names; undefined deletes one. */
export type Values = Readonly<Record<string, number | undefined>>

/** A collection of a backend, which has nothing at first, and a mirror of it with a cache. */
export interface WarmCollection {
  put(values: Values): Promise<unknown>
  run(expected: Values): Promise<Life>
}

export function testResume(open: () => WarmCollection | Promise<WarmCollection>, rule = '', kind = ''): void {
  test(`${rule}resumes without a list, and delivers the saved objects, then the changes${kind}`, async () => {
    const { put, run } = await open()
    await put({ a: 1, b: 1, c: 1 })
    expect((await run({ a: 1, b: 1, c: 1 })).lists).toBe(1)
    await put({ a: 2, c: undefined, d: 2 })
    expect(await run({ a: 2, b: 1, d: 2 })).toEqual(resumedFrom(['a', 'b', 'c'], ['update a', 'delete c', 'add d']))
    // Nothing has happened since.
    expect(await run({ a: 2, b: 1, d: 2 })).toEqual(resumedFrom(['a', 'b', 'd'], []))
  })
}

/** `forget` ends the history after the saved version. */
export function testExpiry<W extends WarmCollection>(
  title: string,
  open: () => W | Promise<W>,
  forget: (of: W) => Promise<unknown>,
): void {
  test(title, async () => {
    const warm = await open()
    await warm.put({ a: 1, b: 1 })
    await warm.run({ a: 1, b: 1 })
    await warm.put({ a: 2 })
    await warm.put({ b: undefined, c: 2 })
    await forget(warm)
    const after = await warm.run({ a: 2, c: 2 })
    expect(after).toMatchObject({ lists: 1, initial: ['a', 'c'], changes: [], errors: ['VERSION_EXPIRED'] })
  })
}

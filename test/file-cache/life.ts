import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { type FileCacheOptions, fileCache } from '../../caches/file/index.js'
import type { ListContext, ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { waitUntil } from '../servers/wait-until.js'

export interface LifeOptions<T> {
  /** A source of its own, with a client of its own. */
  readonly source: ListerWatcher<T>
  readonly cache: FileCacheOptions
  readonly expected: Readonly<Record<string, unknown>>
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
  const { source, cache, expected, isAudited = false, view = (object) => object } = options
  const [initial, changes, errors, warnings]: [string[], string[], string[], string[]] = [[], [], [], []]
  let lists = 0
  const counted = new Proxy(source, {
    get(target, name) {
      if (name === 'list') {
        return (context: ListContext) => {
          lists++
          return target.list(context)
        }
      }
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  const logger = { debug() {}, info() {}, warn: (message: string) => void warnings.push(message), error() {} }
  const informer = createInformer<T, object, T>({
    source: counted,
    cache: fileCache(cache),
    ...(isAudited ? {} : { audit: false }),
    logger,
  })
  informer.on('error', ({ code }) => errors.push(code))
  informer.subscribe({
    add: ({ key, origin }) => void (origin === 'initial' ? initial.push(key) : changes.push(`add ${key}`)),
    update: ({ key }) => void changes.push(`update ${key}`),
    delete: ({ key }) => void changes.push(`delete ${key}`),
  })
  try {
    informer.start()
    const content = (): unknown =>
      Object.fromEntries(Array.from(informer.entries(), ([key, each]) => [key, view(each)]))
    await waitUntil('the content', () => isDeepStrictEqual(content(), expected), 30_000).catch(() => {
      expect({ content: content(), errors, status: informer.status }).toEqual({ content: expected })
    })
    await waitUntil('the watch', () => informer.status.state === 'live', 30_000)
    expect(informer.status.isSynced).toBe(true)
  } finally {
    await informer.stop({ drainMs: 1_000 })
  }
  // Old servers are warned of, too.
  return { lists, initial: initial.sort(), changes: changes.sort(), errors, warnings: warnings.filter(isOfCache) }
}

function isOfCache(warning: string): boolean {
  return warning.includes('the file is not used')
}

/** What a life is that resumed from this content, without a list. */
export function resumedFrom(keys: readonly string[], changes: readonly string[]): Life {
  return { lists: 0, initial: [...keys].sort(), changes: [...changes].sort(), errors: [], warnings: [] }
}

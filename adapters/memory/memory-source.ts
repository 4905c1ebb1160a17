import { SourceError } from '../../src/contract/errors.js'
import { systemRandom } from '../../src/contract/random.js'
import {
  DEFAULT_HEARTBEAT_MS,
  type Entry,
  type Invalid,
  type ListerWatcher,
  type Put,
  type WatchEvent,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { onAbort } from '../../src/util/abort-listeners.js'
import { membersOf } from '../../src/util/type-guards.js'
import { checkOptions, isCount, isName, isPositive, type OptionCheck } from '../../src/util/validate-options.js'
import { repeat } from '../common/deadline-scope.js'
import { refused, unavailable } from '../common/source-errors.js'

/**
 * A collection in memory with transactions, versions, compaction and scripted faults. It is the reference
 * implementation of the source contract, and a fake for tests. Objects are passed on as they are, not copied.
 *
 * @example
 * ```ts
 * const source = memorySource<Limit>()
 * const informer = createInformer({ source })
 * await informer.start().synced()
 * const version = source.put('acme', { tenant: 'acme', rps: 5, burst: 10 })
 * await informer.waitFor(version)
 * source.disconnect() // The informer resumes its watch.
 * source.compact() // A watch from an earlier version expires, so the informer lists again.
 * ```
 */
export interface MemorySource<T> extends ListerWatcher<T> {
  /** Adds or replaces an object. Returns the version of the write, for `waitFor`. */
  put(key: string, object: T): Version
  /** Deletes an object. Returns the version of the delete, also if the key does not exist. */
  delete(key: string): Version
  /** Applies the writes of `fn` as one transaction, and returns its version. If `fn` throws, nothing is written. */
  transaction(fn: (tx: { put(key: string, object: T): void; delete(key: string): void }) => void): Version
  /**
   * Replaces the object under `key`, or adds one, that fails to decode with `error` until the key is written again.
   * Returns the version of this write.
   */
  corrupt(key: string, error: unknown): Version
  /**
   * Every open list and watch fails with `UNAVAILABLE`; the next ones work. Just after `synced()` the watch of an
   * informer may not be open yet: it is when `status.state` is `live`.
   */
  disconnect(): void
  /** Every open list and watch becomes silent, as on a half-open connection; the next ones work. */
  stall(): void
  /** Removes the history: a watch from an earlier version fails with `VERSION_EXPIRED`. */
  compact(): void
  /** Makes the next `times` lists and watches (default 1) fail with `error`. */
  fail(error: SourceError, times?: number): void
  /** Replaces all objects and starts a new epoch, like a restored backup. Returns the first version of the epoch. */
  restore(entries: Iterable<readonly [string, T]>): Version
  /** Returns the version of the last write. */
  head(): Promise<Version>
  /**
   * Returns whether `at` includes everything up to `mark`.
   * @throws SourceError `EPOCH_CHANGED` for a version of another epoch or memory source, `PROTOCOL` for any other text.
   */
  hasReached(at: Version, mark: Version): boolean
}

/**
 * Options of `memorySource`.
 *
 * @example
 * ```ts
 * const source = memorySource<Limit>({
 *   entries: [['acme', { tenant: 'acme', rps: 5, burst: 10 }]],
 *   heartbeatMs: 1_000, // Default: 10 000.
 *   history: 10, // A watch that is further behind expires. Default: 100 000 transactions.
 * })
 * ```
 */
export interface MemorySourceOptions<T> {
  /** The first objects, by key. Default: none. */
  readonly entries?: Iterable<readonly [string, T]>
  /** The name in logs and errors. Default "memory". */
  readonly name?: string
  /** The time between two bookmarks of a silent watch, in milliseconds. Default 10 000. */
  readonly heartbeatMs?: number
  /**
   * The number of transactions in the history. A watch that is further behind fails with `VERSION_EXPIRED`. Default
   * 100 000.
   */
  readonly history?: number
}

/**
 * Returns a source that keeps a collection in memory.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError that names a wrong option.
 *
 * @example
 * ```ts
 * const orders = memorySource({ entries: [['1', { total: 5 }]] })
 * orders.put('2', { total: 7 })
 * ```
 */
export function memorySource<T>(options: MemorySourceOptions<T> = {}): MemorySource<T> {
  checkOptions('memorySource', options, {
    entries: isIterable,
    name: isName,
    heartbeatMs: isPositive,
    history: isCount,
  })
  return collectionOf(options)
}

const isIterable: OptionCheck = (value) =>
  Symbol.iterator in membersOf(value) ? undefined : 'must be a Map or an array of [key, object] pairs'

function assertKey(call: string, key: unknown): void {
  if (typeof key !== 'string') throw new TypeError(`${call}: the key must be a string, got ${typeof key}`)
}

/** A stored object that fails to decode. */
interface Broken {
  readonly key: string
  readonly uid: string | undefined
  readonly version: Version
  readonly error: unknown
}

type Stored<T> = Entry<T> | Broken

interface Transaction<T> {
  readonly sequence: number
  readonly events: readonly WatchEvent<T>[]
}

/** An open list or watch, with its scripted fault. */
interface Call {
  readonly signal: AbortSignal
  fault: SourceError | 'stall' | undefined
  wake: () => void
  close(): void
}

const PROCESS = String(systemRandom.next())

/** The number of created sources. It makes the versions of each source unique. */
let sourceCount = 0

function collectionOf<T>(options: MemorySourceOptions<T>): MemorySource<T> {
  const { entries: first = [], name = 'memory', heartbeatMs = DEFAULT_HEARTBEAT_MS, history: limit = 100_000 } = options
  const id = ++sourceCount
  const stored = new Map<string, Stored<T>>()
  const calls = new Set<Call>()
  /** Invariant: without gaps; the first is the transaction after `compacted`. */
  let log: Transaction<T>[] = []
  let epoch = 1
  let lastSequence = 0
  let compacted = 0
  let failures: { readonly error: SourceError; times: number } | undefined

  const versionAt = (sequence: number): Version => `${id}.${epoch}.${sequence}`
  /** The version of the next transaction and of its objects. No epoch uses it twice. */
  const nextVersion = (): Version => versionAt(lastSequence + 1)
  const parsed = (version: Version): { readonly epoch: number; readonly sequence: number } => {
    const [, of, inEpoch, sequence] = versionPattern.exec(version) ?? []
    if (of === undefined) throw refused(`"${version}" is not a version of a memory source`)
    if (Number(of) !== id) throw new SourceError('the version is of another memory source', { code: 'EPOCH_CHANGED' })
    return { epoch: Number(inEpoch), sequence: Number(sequence) }
  }

  const wakeAll = (): void => {
    for (const call of calls) call.wake()
  }

  const failOpenCalls = (fault: () => SourceError | 'stall'): void => {
    for (const call of calls) call.fault = fault()
    wakeAll()
  }

  const store = (entry: Entry<T>): WatchEvent<T> => {
    stored.set(entry.key, entry)
    return { type: 'put', ...entry }
  }

  const fill = (entries: Iterable<readonly [string, T]>): void => {
    const version = versionAt(lastSequence)
    for (const entry of entries) {
      assertKey('entries', membersOf(entry)[0])
      const [key, object] = entry
      store({ key, object, version, uid: '0' })
    }
  }

  const commit = (events: readonly WatchEvent<T>[]): Version => {
    const sequence = ++lastSequence
    log.push({ sequence, events })
    if (log.length > limit) {
      log = log.slice(log.length - Math.ceil(limit / 2))
      compacted = sequence - log.length
    }
    wakeAll()
    return versionAt(sequence)
  }

  const transaction: MemorySource<T>['transaction'] = (fn) => {
    const writes: { readonly key: string; write(version: Version, isLast: boolean): WatchEvent<T> | undefined }[] = []
    fn({
      put: (key, object) => {
        assertKey('put', key)
        // Equal versions mean equal objects: an object that the same transaction overwrites has no version.
        const write = (version: Version, isLast: boolean): WatchEvent<T> => {
          const uid = stored.get(key)?.uid ?? version
          return store(isLast ? { key, object, version, uid } : { key, object, uid })
        }
        writes.push({ key, write })
      },
      delete: (key) => {
        assertKey('delete', key)
        const write = (version: Version): WatchEvent<T> | undefined =>
          stored.delete(key) ? { type: 'delete', key, version } : undefined
        writes.push({ key, write })
      },
    })
    // Read after `fn`, which may have called other methods of the source.
    const version = nextVersion()
    const last = new Map(writes.map(({ key }, at) => [key, at]))
    const events = writes.map(({ key, write }, at) => write(version, last.get(key) === at))
    return commit(events.filter((event) => event !== undefined))
  }

  const open = (signal: AbortSignal): Call => {
    if (failures !== undefined) {
      const { error } = failures
      failures.times--
      if (failures.times <= 0) failures = undefined
      throw error
    }
    const unlink = onAbort(signal, () => call.wake())
    const close = (): void => {
      unlink()
      calls.delete(call)
    }
    const call: Call = { signal, fault: undefined, wake: () => {}, close }
    calls.add(call)
    return call
  }
  fill(first)
  return {
    name,
    heartbeatMs,
    put: (key, object) => transaction((tx) => tx.put(key, object)),
    delete: (key) => transaction((tx) => tx.delete(key)),
    transaction,
    corrupt: (key, error) => {
      const version = nextVersion()
      stored.set(key, { key, uid: stored.get(key)?.uid ?? version, version, error })
      return commit([{ type: 'invalid', key, error, version }])
    },
    disconnect: () => failOpenCalls(() => unavailable('the connection was lost')),
    stall: () => failOpenCalls(() => 'stall'),
    compact: () => {
      compacted = lastSequence
      log = []
      wakeAll()
    },
    fail: (error, times = 1) => {
      failures = { error, times }
    },
    restore: (entries) => {
      epoch++
      lastSequence = compacted = 0
      log = []
      stored.clear()
      fill(entries)
      wakeAll()
      return versionAt(lastSequence)
    },
    head: async () => versionAt(lastSequence),
    hasReached: (at, mark) => {
      const [here, there] = [parsed(at), parsed(mark)]
      if (here.epoch !== there.epoch)
        throw new SourceError('the version is of another epoch', { code: 'EPOCH_CHANGED' })
      return here.sequence >= there.sequence
    },
    async *list({ signal, pageSize }) {
      const call = open(signal)
      try {
        const version = versionAt(lastSequence)
        const all = [...stored.values()]
        for (let at = 0; at === 0 || at < all.length; at += pageSize) {
          while (!canContinue(call)) await nextWakeUp(call)
          const events = all.slice(at, at + pageSize).map(eventOf)
          const remaining = Math.max(0, all.length - at - pageSize)
          yield remaining === 0 ? { events, version, remaining } : { events, remaining }
        }
      } finally {
        call.close()
      }
    },
    resumeState: () => PROCESS,
    async *watch({ after, signal, clock, onProgressRequest, isUnconfirmed, resumeState }) {
      const call = open(signal)
      let isProgressRequested = true
      const requestProgress = (): void => {
        isProgressRequested = true
        call.wake()
      }
      const stopHeartbeat = repeat(clock, heartbeatMs, requestProgress)
      try {
        // The objects of another process are not here, although its versions may look the same.
        if (isUnconfirmed === true && resumeState !== PROCESS)
          throw new SourceError('the version is of another process', { code: 'EPOCH_CHANGED' })
        const from = parsed(after)
        onProgressRequest(requestProgress)
        for (let at = from.sequence; ; ) {
          // This check and the wait have no other await between them: it would lose a wake-up.
          while (!canContinue(call)) await nextWakeUp(call)
          if (from.epoch !== epoch) throw new SourceError('the collection was restored', { code: 'EPOCH_CHANGED' })
          if (at < compacted) throw new SourceError('the history was compacted', { code: 'VERSION_EXPIRED' })
          const next = log[at - compacted]
          if (next !== undefined) {
            at = next.sequence
            yield { events: next.events, version: versionAt(at) }
          } else if (isProgressRequested) {
            isProgressRequested = false
            yield { events: [], version: versionAt(at) }
          } else await nextWakeUp(call)
        }
      } finally {
        stopHeartbeat()
        call.close()
      }
    },
  }
}

/** `<collection>.<epoch>.<transaction>` */
const versionPattern = /^(\d{1,15})\.(\d{1,15})\.(\d{1,15})$/

function eventOf<T>(stored: Stored<T>): Put<T> | Invalid {
  if (!('error' in stored)) return { type: 'put', ...stored }
  const { key, version, error } = stored
  return { type: 'invalid', key, error, version }
}

/** Returns false while the call is stalled. Throws if the call was aborted or has failed. */
function canContinue({ signal, fault }: Call): boolean {
  signal.throwIfAborted()
  if (fault instanceof SourceError) throw fault
  return fault !== 'stall'
}

function nextWakeUp(call: Call): Promise<void> {
  return new Promise((resolve) => {
    call.wake = resolve
  })
}

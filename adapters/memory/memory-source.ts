import { SourceError } from '../../src/contract/errors.js'
import { systemRandom } from '../../src/contract/random.js'
import {
  DEFAULT_HEARTBEAT_MS,
  type Entry,
  type Invalid,
  type ListContext,
  type ListerWatcher,
  type ListPage,
  type Put,
  type WatchBatch,
  type WatchContext,
  type WatchEvent,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { onAbort } from '../../src/util/abort-listeners.js'
import { membersOf } from '../../src/util/type-guards.js'
import { checkOptions, isCount, isName, isPositive, type OptionCheck } from '../../src/util/validate-options.js'
import { repeat } from '../common/deadline-scope.js'

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
  return new Memory(options)
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

class Memory<T> implements MemorySource<T> {
  readonly name: string
  readonly heartbeatMs: number
  readonly #id = ++sourceCount
  readonly #limit: number
  readonly #stored = new Map<string, Stored<T>>()
  readonly #calls = new Set<Call>()
  /** Invariant: without gaps; the first is the transaction after `#compacted`. */
  #log: Transaction<T>[] = []
  #epoch = 1
  #sequence = 0
  #compacted = 0
  #failures: { readonly error: SourceError; times: number } | undefined

  constructor({
    entries = [],
    name = 'memory',
    heartbeatMs = DEFAULT_HEARTBEAT_MS,
    history = 100_000,
  }: MemorySourceOptions<T>) {
    this.name = name
    this.heartbeatMs = heartbeatMs
    this.#limit = history
    this.#fill(entries)
  }

  put(key: string, object: T): Version {
    return this.transaction((tx) => tx.put(key, object))
  }

  delete(key: string): Version {
    return this.transaction((tx) => tx.delete(key))
  }

  transaction(fn: (tx: { put(key: string, object: T): void; delete(key: string): void }) => void): Version {
    const writes: { readonly key: string; write(version: Version, isLast: boolean): WatchEvent<T> | undefined }[] = []
    fn({
      put: (key, object) => {
        assertKey('put', key)
        writes.push({ key, write: (version, isLast) => this.#put(key, object, version, isLast) })
      },
      delete: (key) => {
        assertKey('delete', key)
        const write = (version: Version): WatchEvent<T> | undefined =>
          this.#stored.delete(key) ? { type: 'delete', key, version } : undefined
        writes.push({ key, write })
      },
    })
    // Read after `fn`, which may have called other methods of the source.
    const version = this.#next()
    const last = new Map(writes.map(({ key }, at) => [key, at]))
    const events = writes.map(({ key, write }, at) => write(version, last.get(key) === at))
    return this.#commit(events.filter((event) => event !== undefined))
  }

  corrupt(key: string, error: unknown): Version {
    const version = this.#next()
    this.#stored.set(key, { key, uid: this.#stored.get(key)?.uid ?? version, version, error })
    return this.#commit([{ type: 'invalid', key, error, version }])
  }

  disconnect(): void {
    this.#failOpenCalls(() => new SourceError('the connection was lost', { code: 'UNAVAILABLE' }))
  }

  stall(): void {
    this.#failOpenCalls(() => 'stall')
  }

  compact(): void {
    this.#compacted = this.#sequence
    this.#log = []
    for (const call of this.#calls) call.wake()
  }

  fail(error: SourceError, times = 1): void {
    this.#failures = { error, times }
  }

  restore(entries: Iterable<readonly [string, T]>): Version {
    this.#epoch++
    this.#sequence = 0
    this.#compacted = 0
    this.#log = []
    this.#stored.clear()
    this.#fill(entries)
    for (const call of this.#calls) call.wake()
    return this.#version(this.#sequence)
  }

  async head(): Promise<Version> {
    return this.#version(this.#sequence)
  }

  hasReached(at: Version, mark: Version): boolean {
    const [here, there] = [this.#parse(at), this.#parse(mark)]
    if (here.epoch !== there.epoch) throw new SourceError('the version is of another epoch', { code: 'EPOCH_CHANGED' })
    return here.sequence >= there.sequence
  }

  async *list({ signal, pageSize }: ListContext): AsyncIterable<ListPage<T>> {
    const call = this.#open(signal)
    try {
      const version = this.#version(this.#sequence)
      const stored = [...this.#stored.values()]
      for (let at = 0; at === 0 || at < stored.length; at += pageSize) {
        while (!canContinue(call)) await nextWakeUp(call)
        const events = stored.slice(at, at + pageSize).map(eventOf)
        const remaining = Math.max(0, stored.length - at - pageSize)
        yield remaining === 0 ? { events, version, remaining } : { events, remaining }
      }
    } finally {
      call.close()
    }
  }

  resumeState(): string {
    return PROCESS
  }

  async *watch(context: WatchContext): AsyncIterable<WatchBatch<T>> {
    const { after, signal, clock, onProgressRequest, isUnconfirmed, resumeState } = context
    const call = this.#open(signal)
    let isProgressRequested = true
    const requestProgress = (): void => {
      isProgressRequested = true
      call.wake()
    }
    const stopHeartbeat = repeat(clock, this.heartbeatMs, requestProgress)
    try {
      // The objects of another process are not here, although its versions may look the same.
      if (isUnconfirmed === true && resumeState !== PROCESS)
        throw new SourceError('the version is of another process', { code: 'EPOCH_CHANGED' })
      const { epoch, sequence } = this.#parse(after)
      onProgressRequest(requestProgress)
      for (let at = sequence; ; ) {
        // This check and the wait have no other await between them: it would lose a wake-up.
        while (!canContinue(call)) await nextWakeUp(call)
        if (epoch !== this.#epoch) throw new SourceError('the collection was restored', { code: 'EPOCH_CHANGED' })
        if (at < this.#compacted) throw new SourceError('the history was compacted', { code: 'VERSION_EXPIRED' })
        const next = this.#log[at - this.#compacted]
        if (next !== undefined) {
          at = next.sequence
          yield { events: next.events, version: this.#version(at) }
        } else if (isProgressRequested) {
          isProgressRequested = false
          yield { events: [], version: this.#version(at) }
        } else await nextWakeUp(call)
      }
    } finally {
      stopHeartbeat()
      call.close()
    }
  }

  #open(signal: AbortSignal): Call {
    const failures = this.#failures
    if (failures !== undefined) {
      failures.times--
      if (failures.times <= 0) this.#failures = undefined
      throw failures.error
    }
    const unlink = onAbort(signal, () => call.wake())
    const close = (): void => {
      unlink()
      this.#calls.delete(call)
    }
    const call: Call = { signal, fault: undefined, wake: () => {}, close }
    this.#calls.add(call)
    return call
  }

  #failOpenCalls(fault: () => SourceError | 'stall'): void {
    for (const call of this.#calls) {
      call.fault = fault()
      call.wake()
    }
  }

  #fill(entries: Iterable<readonly [string, T]>): void {
    const version = this.#version(this.#sequence)
    for (const entry of entries) {
      assertKey('entries', membersOf(entry)[0])
      const [key, object] = entry
      this.#store({ key, object, version, uid: '0' })
    }
  }

  /** Equal versions mean equal objects: an object that the same transaction overwrites has no version. */
  #put(key: string, object: T, version: Version, isLast: boolean): WatchEvent<T> {
    const uid = this.#stored.get(key)?.uid ?? version
    return this.#store(isLast ? { key, object, version, uid } : { key, object, uid })
  }

  #store(entry: Entry<T>): WatchEvent<T> {
    this.#stored.set(entry.key, entry)
    return { type: 'put', ...entry }
  }

  #commit(events: readonly WatchEvent<T>[]): Version {
    const sequence = ++this.#sequence
    this.#log.push({ sequence, events })
    if (this.#log.length > this.#limit) {
      const { length } = this.#log
      this.#log = this.#log.slice(length - Math.ceil(this.#limit / 2))
      this.#compacted = sequence - this.#log.length
    }
    for (const call of this.#calls) call.wake()
    return this.#version(sequence)
  }

  /** The version of the next transaction and of its objects. No epoch uses it twice. */
  #next(): Version {
    return this.#version(this.#sequence + 1)
  }

  #version(sequence: number): Version {
    return `${this.#id}.${this.#epoch}.${sequence}`
  }

  #parse(version: Version): { readonly epoch: number; readonly sequence: number } {
    const [, id, epoch, sequence] = versionPattern.exec(version) ?? []
    if (id === undefined) {
      throw new SourceError(`"${version}" is not a version of a memory source`, { code: 'PROTOCOL' })
    }
    if (Number(id) !== this.#id)
      throw new SourceError('the version is of another memory source', { code: 'EPOCH_CHANGED' })
    return { epoch: Number(epoch), sequence: Number(sequence) }
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

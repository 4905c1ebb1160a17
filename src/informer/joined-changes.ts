import type { Clock } from '../contract/clock.js'
import type { Version } from '../contract/version.js'
import { type Change, changesOf, mergePending, type Pending } from '../queue/change.js'
import type { ChangeStream, SubscribeOptions } from '../subscriptions/subscription-types.js'
import type { Informer } from './informer-types.js'
import { internalsOf } from './internals.js'

/** While some changes of a commit are not queued yet, the commit is waited for in steps of this time, in milliseconds. */
export const CATCH_UP_MS = 2

/** What the stores of several informers have changed, by the name of each that has a change. */
export interface JoinedBatch<T> {
  readonly parts: ReadonlyMap<string, readonly Change<T>[]>
  readonly version: Version
  readonly isSynced: true
}

/** Whether a store shows a large commit, of which no change may be queued yet. */
export function isRouting(informers: Iterable<object>): boolean {
  return [...informers].some((each) => internalsOf(each)?.objects.isRouting === true)
}

export function joinedVersion(of: Iterable<{ readonly version: Version | undefined }>): Version {
  return Array.from(of, ({ version = '' }) => version).join('\n')
}

/**
 * The changes of several informers. Each batch brings its reader to what readers of the stores see at that time, in all
 * of them: it has one or more whole commits. In a batch the changes of a key are merged.
 */
export class JoinedChanges<T> {
  readonly #informers: ReadonlyMap<string, Informer<T, object>>
  readonly #streams: ReadonlyMap<string, ChangeStream<T>>
  readonly #clock: Clock
  #pending = new Map<string, Map<string, Pending<T>>>()
  /** Whether there was a batch since the last one here, or a stream has ended. */
  #news = Promise.withResolvers<void>()
  #replaying: number
  /** Whether the first batch was taken, which has what the stores had at the beginning. */
  #isReplayed = false
  #end: { readonly error?: unknown } | undefined

  constructor(
    informers: ReadonlyMap<string, Informer<T, object>>,
    clock: Clock,
    optionsOf: (name: string) => SubscribeOptions<T, object>,
  ) {
    const streams = new Map<string, ChangeStream<T>>()
    for (const [name, informer] of informers) streams.set(name, informer.changes(optionsOf(name)))
    this.#informers = informers
    this.#streams = streams
    this.#clock = clock
    this.#replaying = streams.size
    for (const [name, stream] of streams) void this.#read(name, stream)
  }

  get version(): Version {
    return joinedVersion(this.#streams.values())
  }

  get backlog(): { readonly keys: number } {
    let keys = this.#queued + (this.#isReplayed ? 0 : 1)
    for (const { size } of this.#pending.values()) keys += size
    return { keys }
  }

  get #queued(): number {
    let keys = 0
    for (const { backlog } of this.#streams.values()) keys += backlog.keys
    return keys
  }

  /** Whether all that readers see has arrived here. */
  get #isComplete(): boolean {
    const informers = [...this.#informers.values()]
    const isLast = !isRouting(informers) && this.version === joinedVersion(informers)
    return this.#replaying === 0 && isLast && this.#queued === 0
  }

  async synced(): Promise<void> {
    await Promise.all(Array.from(this.#streams.values(), (each) => each.synced()))
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JoinedBatch<T>, void> {
    for (;;) {
      await this.#news.promise
      for (;;) {
        // After a turn of the event loop, a batch that has left its queue is here.
        await this.#clock.sleep(0)
        if (this.#end !== undefined) {
          if ('error' in this.#end) throw this.#end.error
          return
        }
        if (this.#isComplete) break
        await this.#clock.sleep(CATCH_UP_MS)
      }
      const pending = this.#pending
      this.#pending = new Map()
      this.#news = Promise.withResolvers()
      this.#isReplayed = true
      const parts = new Map(Array.from(pending, ([name, keys]) => [name, [...keys.values()].flatMap(changesOf)]))
      yield { parts, version: this.version, isSynced: true }
    }
  }

  async #read(name: string, stream: ChangeStream<T>): Promise<void> {
    let isReplaying = true
    try {
      for await (const { changes, isSynced } of stream) {
        for (const change of changes) this.#add(name, change)
        if (isSynced && isReplaying) {
          isReplaying = false
          this.#replaying--
        }
        this.#news.resolve()
      }
      this.#end ??= {}
    } catch (error) {
      this.#end ??= { error }
    }
    this.#news.resolve()
  }

  #add(name: string, change: Change<T>): void {
    const keys = this.#pending.get(name) ?? new Map<string, Pending<T>>()
    const merged = mergePending(keys.get(change.key), change)
    if (merged === undefined) keys.delete(change.key)
    else keys.set(change.key, merged)
    this.#pending.set(name, keys)
  }
}

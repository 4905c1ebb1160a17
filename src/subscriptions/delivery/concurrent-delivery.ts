import { type Change, changesOf, mergePending, type Pending } from '../../queue/change.js'
import { DEFAULT_CAPACITY } from '../../queue/change-queue.js'
import { TimeSlice } from '../../util/time-slice.js'
import type { Feed } from '../feed.js'
import type { FeedOptions } from '../subscription-types.js'
import type { HandlerCaller } from './handler-caller.js'
import { type InFlightBatch, InFlightBatches } from './in-flight-batches.js'

interface Unhandled<T> {
  readonly change: Change<T>
  readonly batch: InFlightBatch
  /** Since when it has waited. Of merged changes the first counts. */
  readonly at: number
}

/** A dequeued batch, some changes of which were not taken yet. */
interface PartialBatch<T> {
  readonly changes: readonly Change<T>[]
  readonly batch: InFlightBatch
  readonly since: number
  next: number
}

export class ConcurrentDelivery<T> {
  readonly #feed: Feed<T>
  readonly #caller: HandlerCaller<T>
  readonly #concurrency: number
  /** How many changes may wait for the handler of their key before no further batch is dequeued. */
  readonly #capacity: number
  readonly #wantsLatest: boolean
  readonly #rested: () => void
  readonly #inFlight: InFlightBatches<T>
  /** Changes that may be handled now, the next one last. They come before those of the current batch. */
  #ready: Unhandled<T>[] = []
  #current: PartialBatch<T> | undefined
  /** Changes of keys that are being handled. Invariant: a key is in it exactly while its handler runs. */
  readonly #blocked = new Map<string, Unhandled<T>[]>()
  #blockedCount = 0
  #isDelivering = false
  readonly #slice: TimeSlice
  unhandled = 0

  constructor(
    feed: Feed<T>,
    caller: HandlerCaller<T>,
    { concurrency = 1, capacity = DEFAULT_CAPACITY, delivery }: FeedOptions<T>,
    rested: () => void,
  ) {
    this.#feed = feed
    this.#caller = caller
    this.#concurrency = concurrency
    this.#capacity = capacity
    this.#wantsLatest = delivery === 'latest'
    this.#rested = rested
    this.#inFlight = new InFlightBatches(feed)
    this.#slice = new TimeSlice(feed.host.clock)
  }

  get unhandledSince(): number {
    let since = this.#current?.since ?? Infinity
    for (const { at } of this.#ready) since = Math.min(since, at)
    for (const [first] of this.#blocked.values()) since = Math.min(since, first?.at ?? Infinity)
    return since
  }

  get isBusy(): boolean {
    return this.#isDelivering || this.#blocked.size > 0
  }

  wake(): void {
    this.#slice.begin()
    this.#continue()
  }

  #continue(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    // Not inside the commit: handlers read a store that has the whole commit, and may call the informer.
    void Promise.resolve().then(() => this.#deliver())
  }

  clear(): void {
    this.unhandled = 0
    this.#ready = []
    this.#current = undefined
  }

  async #deliver(): Promise<void> {
    while (this.#feed.closed === undefined && this.#blocked.size < this.#concurrency) {
      const next = this.#next()
      if (next === undefined) break
      this.#start(next)
      if (this.#slice.isOverAfterCall()) await this.#slice.turn()
    }
    this.#isDelivering = false
    this.#rested()
  }

  /** Dequeues a batch if no change is left, and the capacity allows it. */
  #next(): Unhandled<T> | undefined {
    const ready = this.#ready.pop()
    if (ready !== undefined) return ready
    for (;;) {
      const current = this.#current
      const change = current?.changes[current.next++]
      if (current !== undefined && change !== undefined) return { change, batch: current.batch, at: current.since }
      this.#current = this.#blockedCount < this.#capacity ? this.#dequeue() : undefined
      if (this.#current === undefined) return undefined
    }
  }

  #dequeue(): PartialBatch<T> | undefined {
    const since = this.#feed.oldestAt ?? this.#feed.host.clock.now()
    const dequeued = this.#feed.dequeue()
    if (dequeued === undefined) return undefined
    const { changes } = dequeued
    this.unhandled += changes.length
    const batch = this.#inFlight.track(dequeued)
    this.#inFlight.expect(batch, changes.length)
    this.#inFlight.ack(batch)
    return { changes, batch, since, next: 0 }
  }

  #start(unhandled: Unhandled<T>): void {
    const { change, batch } = unhandled
    const blocked = this.#blocked.get(change.key)
    if (blocked !== undefined) {
      this.#block(blocked, unhandled)
      return
    }
    this.unhandled--
    const working = this.#caller.call(change)
    if (working === undefined) {
      this.#inFlight.ack(batch)
      return
    }
    this.#blocked.set(change.key, [])
    void working.then(() => {
      const next = this.#blocked.get(change.key)?.shift()
      const others = this.#blocked.get(change.key) ?? []
      this.#blocked.delete(change.key)
      this.#inFlight.ack(batch)
      if (next !== undefined && this.#feed.closed === undefined) {
        this.#blockedCount--
        this.#startNext(change.key, next, others)
      }
      this.#continue()
    })
  }

  #startNext(key: string, next: Unhandled<T>, others: Unhandled<T>[]): void {
    const isDelivering = this.#isDelivering
    // Busy in any case: a handler that closes the subscription waits for itself, and for the changes behind it.
    this.#isDelivering = true
    this.#start(next)
    this.#unblock(key, others)
    this.#isDelivering = isDelivering
  }

  /** A merged change belongs to the earliest batch: no version is reported before it. Resyncs behind it are dropped. */
  #block(blocked: Unhandled<T>[], unhandled: Unhandled<T>): void {
    const [first, second] = blocked
    if (first !== undefined && unhandled.change.origin === 'resync') {
      this.unhandled--
      this.#inFlight.ack(unhandled.batch)
      return
    }
    if (!this.#wantsLatest || first === undefined) {
      blocked.push(unhandled)
      this.#blockedCount++
      return
    }
    const pending: Pending<T> =
      first.change.type === 'delete' && second?.change.type === 'add' ? [first.change, second.change] : first.change
    const merged = mergePending(pending, unhandled.change)
    const changes = merged === undefined ? [] : changesOf(merged)
    const more = changes.length - blocked.length
    this.#blockedCount += more
    this.unhandled += more - 1
    this.#inFlight.expect(first.batch, more)
    blocked.splice(0, blocked.length, ...changes.map((change) => ({ ...first, change })))
    this.#inFlight.ack(unhandled.batch)
  }

  /** Changes behind one that was just started stay blocked, or are ready at once if its handler has finished. */
  #unblock(key: string, others: Unhandled<T>[]): void {
    if (others.length === 0) return
    if (this.#blocked.has(key)) this.#blocked.set(key, others)
    else {
      this.#blockedCount -= others.length
      for (const unhandled of others.reverse()) this.#ready.push(unhandled)
    }
  }
}

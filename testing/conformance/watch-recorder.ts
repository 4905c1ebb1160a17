import { systemClock } from '../../src/contract/clock.js'
import type { WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { assertEndsInTime, ContractViolation, check, withTimeout } from './assertions.js'
import { checkEvents, checkVersion } from './event-checks.js'
import { areEqual, difference, type ExpectedContents, type Values } from './expected-contents.js'

/** Where a watch can go on from: a version, and what the collection held at it. */
export interface Position {
  readonly version: Version
  readonly contents: ExpectedContents
}

export interface WatchRecorderOptions {
  readonly context: Omit<WatchContext, 'signal' | 'onProgressRequest' | 'after'>
  readonly from: Position
  readonly timeoutMs: number
  watch(context: WatchContext): AsyncIterable<WatchBatch<unknown>>
}

/** A watch that is read batch by batch, and what its batches add up to. */
export class WatchRecorder implements Position {
  readonly contents: ExpectedContents
  readonly batches: WatchBatch<unknown>[] = []
  /** Where it was, after each batch. The first is where it began. */
  readonly positions: Position[]
  readonly progressRequests: (() => void)[] = []
  readonly #timeoutMs: number
  readonly #stop = new AbortController()
  readonly #iterator: AsyncIterator<WatchBatch<unknown>>
  /** What was asked for and has not come yet. */
  #pending: Promise<IteratorResult<WatchBatch<unknown>>> | undefined

  constructor({ context, from, timeoutMs, watch }: WatchRecorderOptions) {
    this.contents = from.contents.copy()
    this.positions = [{ version: from.version, contents: from.contents.copy() }]
    this.#timeoutMs = timeoutMs
    const watched = watch({
      ...context,
      after: from.version,
      signal: this.#stop.signal,
      onProgressRequest: (listener) => void this.progressRequests.push(listener),
    })
    this.#iterator = watched[Symbol.asyncIterator]()
  }

  /** Where it is. */
  get version(): Version {
    return this.batches.at(-1)?.version ?? this.positions[0]?.version ?? ''
  }

  /** What it was given to be stopped by. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get values(): Values {
    return this.contents.values
  }

  /** The current version with a copy of the contents. */
  position(): Position {
    return { version: this.version, contents: this.contents.copy() }
  }

  /** The next batch. Rejects with the watch's own error, or when none comes. */
  async next(what = 'a batch', ms: number = this.#timeoutMs): Promise<WatchBatch<unknown>> {
    this.#pending ??= this.#iterator.next()
    this.#pending.catch(() => {}) // It may fail when nobody waits for it any more.
    // What is late is still to come: the next call waits for the same.
    const { done, value } = await withTimeout(ms, what, this.#pending)
    this.#pending = undefined
    check(done !== true, `the watch ended while it was wanted, and ${what} was waited for`)
    checkEvents(value.events, 'watch')
    checkVersion(value.version, 'a batch')
    this.contents.apply(value.events)
    this.batches.push(value)
    this.positions.push(this.position())
    return value
  }

  /** Reads on until it is so. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const deadline = systemClock.now() + this.#timeoutMs
    while (!isSo()) await this.next(what, Math.max(0, deadline - systemClock.now()))
  }

  /** Reads on until the collection holds this. */
  async untilEqual(values: Values): Promise<void> {
    try {
      await this.until('what was written', () => areEqual(this.values, values))
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error
      throw new ContractViolation(`${error.message}: ${difference(this.values, values)}`, { cause: error })
    }
  }

  requestProgress(): void {
    for (const listener of this.progressRequests) listener()
  }

  /** Leaves the loop as `break` does. The signal stays as it is. */
  async leave(): Promise<void> {
    await withTimeout(this.#timeoutMs, 'the end of a watch that was left', Promise.resolve(this.#iterator.return?.()))
  }

  abort(): void {
    this.#stop.abort()
  }

  /** Aborts it and reads it to its end, which has to come in time. */
  async stop(): Promise<void> {
    this.abort()
    await assertEndsInTime('a watch', this.#drain())
  }

  async #drain(): Promise<void> {
    for (let next = this.#pending ?? this.#iterator.next(); ; next = this.#iterator.next()) {
      if ((await next).done === true) return
    }
  }
}

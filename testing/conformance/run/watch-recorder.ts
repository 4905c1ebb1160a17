import { systemClock } from '../../../src/contract/clock.js'
import type { ListerWatcher, SourceContext, WatchBatch } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { areEqual, difference, type ExpectedContents, type Values } from '../expected-contents.js'
import { assertEndsInTime, ContractViolation, check, checkEvents, checkVersion, withTimeout } from './assertions.js'

/** A position from which a watch can resume: a version, and the contents of the collection at that version. */
export interface Position {
  readonly version: Version
  readonly contents: ExpectedContents
}

/** Reads a watch batch by batch, and records its batches and the resulting contents. */
export class WatchRecorder implements Position {
  readonly contents: ExpectedContents
  readonly batches: WatchBatch<unknown>[] = []
  /** The position after each batch. The first one is the start of the watch. */
  readonly positions: Position[]
  readonly progressRequests: (() => void)[] = []
  readonly #timeoutMs: number
  readonly #stop = new AbortController()
  readonly #iterator: AsyncIterator<WatchBatch<unknown>>
  /** A call of the iterator that has not settled. */
  #pending: Promise<IteratorResult<WatchBatch<unknown>>> | undefined

  constructor(source: ListerWatcher<unknown>, context: SourceContext, from: Position, timeoutMs: number) {
    this.contents = from.contents.copy()
    this.positions = [{ version: from.version, contents: from.contents.copy() }]
    this.#timeoutMs = timeoutMs
    const watched = source.watch({
      ...context,
      after: from.version,
      signal: this.#stop.signal,
      onProgressRequest: (listener) => void this.progressRequests.push(listener),
    })
    this.#iterator = watched[Symbol.asyncIterator]()
  }

  get version(): Version {
    return this.batches.at(-1)?.version ?? this.positions[0]?.version ?? ''
  }

  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** The current version with a copy of the contents. */
  position(): Position {
    return { version: this.version, contents: this.contents.copy() }
  }

  /** Returns the next batch. Rejects with the error of the watch, or if no batch arrives in time. */
  async next(what = 'a batch', ms: number = this.#timeoutMs): Promise<WatchBatch<unknown>> {
    this.#pending ??= this.#iterator.next()
    this.#pending.catch(() => {}) // It may fail after the wait has timed out.
    // After a timeout the batch may still arrive: the next call waits for the same one.
    const { done, value } = await withTimeout(ms, what, this.#pending)
    this.#pending = undefined
    check(done !== true, `the watch ended instead of yielding ${what}`)
    checkEvents(value.events, 'watch')
    checkVersion(value.version, 'a batch')
    this.contents.apply(value.events)
    this.batches.push(value)
    this.positions.push(this.position())
    return value
  }

  async until(what: string, condition: () => boolean): Promise<void> {
    const deadline = systemClock.now() + this.#timeoutMs
    while (!condition()) await this.next(what, Math.max(0, deadline - systemClock.now()))
  }

  async untilEqual(values: Values): Promise<void> {
    try {
      await this.until('the written values', () => areEqual(this.contents.values, values))
    } catch (error) {
      if (!(error instanceof ContractViolation)) throw error
      throw new ContractViolation(`${error.message}: ${difference(this.contents.values, values)}`, { cause: error })
    }
  }

  requestProgress(): void {
    for (const listener of this.progressRequests) listener()
  }

  /** Ends the watch like `break` in a loop. The signal does not abort. */
  async leave(): Promise<void> {
    await withTimeout(this.#timeoutMs, 'the end of an abandoned watch', Promise.resolve(this.#iterator.return?.()))
  }

  /** Aborts the watch and reads it to its end. Throws if it does not end in time. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await assertEndsInTime('a watch', this.#drain())
  }

  async #drain(): Promise<void> {
    for (let next = this.#pending ?? this.#iterator.next(); ; next = this.#iterator.next()) {
      if ((await next).done === true) return
    }
  }
}

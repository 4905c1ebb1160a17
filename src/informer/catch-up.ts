import type { SourceError } from '../contract/errors.js'
import type { ListerWatcher } from '../contract/source.js'
import type { Version } from '../contract/version.js'
import { VersionWaiters } from '../subscriptions/version-waiters.js'
import { type HeadContext, requestHead } from './head-request.js'

/** The wait of saved content for the changes that were made before the start. Until then the content is stale. */
export class CatchUp {
  readonly #source: ListerWatcher<unknown>
  readonly #waiters: VersionWaiters
  /** Whether the content lacks such changes, as far as is known. */
  isBehind = false
  /** Whether the content was stale when the listeners of the status were called last. */
  wasStale = false

  constructor(source: ListerWatcher<unknown>) {
    this.#source = source
    this.#waiters = new VersionWaiters((at, mark) => source.hasReached?.(at, mark) === true)
  }

  /** Whether the source can report the changes that were made before the start. */
  get isPossible(): boolean {
    return this.#source.head !== undefined && this.#source.hasReached !== undefined
  }

  /**
   * Resolves when the store includes the head of the source, and never after the signal aborts. Rejects if the head
   * cannot be read, or is of another history. `onHead` is called when the head was read.
   */
  async done(context: HeadContext, onFailure: (error: SourceError) => void, onHead: () => void): Promise<void> {
    const head = await requestHead(this.#source, context, onFailure)
    await new Promise<void>((resolve, reject) => {
      if (head === undefined) return
      this.#waiters.enter(head, context.shown(), { resolve, reject })
      onHead()
    })
    this.isBehind = false
  }

  /** The store is at this version. */
  check(version: Version | undefined): void {
    this.#waiters.check(version)
  }
}

import { ABORTED, SourceError, toSourceError } from '../contract/errors.js'
import type { Attempt } from './attempt.js'
import type { ReflectorHooks } from './reflector-hooks.js'

/** The number of events that are applied between two reads of the clock. */
export const SLICE_EVENTS = 256

/** The calls of a sink, which may continue after the attempt that made them. */
export class SinkCalls {
  readonly #sourceName: string
  readonly #hooks: ReflectorHooks
  /** Settles when the sink has accepted, or refused, the list or batch that it writes now. */
  accepting: Promise<void> | undefined

  constructor(sourceName: string, hooks: ReflectorHooks) {
    this.#sourceName = sourceName
    this.#hooks = hooks
  }

  /** Passes the events of a page to the sink, and lets the event loop turn in between. */
  async inSlices<E>(
    attempt: Attempt,
    events: readonly E[],
    page: (slice: readonly E[]) => void | Promise<void>,
  ): Promise<void> {
    for (let at = 0; at < events.length; at += SLICE_EVENTS) {
      const slice = events.length <= SLICE_EVENTS ? events : events.slice(at, at + SLICE_EVENTS)
      await this.accepted(attempt, () => page(slice), ignore)
      await attempt.yieldIfDue()
    }
  }

  /**
   * Undefined if the sink has accepted at once. Its errors are not errors of the source. If the attempt is aborted, the
   * sink continues: `accepted` or `refused` is called before the next attempt begins.
   */
  accepted(
    attempt: Attempt,
    accept: () => void | Promise<void>,
    accepted: () => void,
    refused: () => void = ignore,
  ): void | Promise<void> {
    let accepting: void | Promise<void>
    try {
      accepting = accept()
    } catch (thrown) {
      return this.#refused(thrown, attempt, refused)
    }
    if (accepting === undefined) return accepted()
    const settled = accepting.then(accepted, (thrown: unknown) => this.#refused(thrown, attempt, refused))
    const ended = settled.catch(ignore).then(() => {
      if (this.accepting === ended) this.accepting = undefined
    })
    this.accepting = ended
    return attempt.pauseWatchdog(settled)
  }

  #refused(thrown: unknown, attempt: Attempt, refused: () => void): never {
    refused()
    const error = thrown === ABORTED ? thrown : toSourceError(thrown, { phase: 'apply', source: this.#sourceName })
    // An aborted attempt has no outcome that would report the error.
    if (attempt.signal.aborted && error instanceof SourceError && error.code !== 'STOPPED') this.#hooks.onError?.(error)
    throw error
  }
}

function ignore(): void {}

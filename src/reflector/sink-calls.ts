import { ABORTED, SourceError, toSourceError } from '../contract/errors.js'
import type { ListTransaction, Sink, WatchBatch } from '../contract/source.js'
import type { Attempt } from './attempt.js'
import type { ReflectorHooks } from './reflector-hooks.js'

/** The calls of a sink, which may continue after the attempt that made them. */
export class SinkCalls<T> {
  readonly #sink: Sink<T>
  readonly #sourceName: string
  readonly #hooks: ReflectorHooks
  /** Settles when the sink has accepted, or refused, the list or batch that it writes now. */
  accepting: Promise<void> | undefined

  constructor(sink: Sink<T>, sourceName: string, hooks: ReflectorHooks) {
    this.#sink = sink
    this.#sourceName = sourceName
    this.#hooks = hooks
  }

  apply(batch: WatchBatch<T>): void | Promise<void> {
    return this.#sink.apply(batch)
  }

  replace(options: { readonly ignoreVersions: boolean }): ListTransaction<T> {
    return this.#sink.replace(options)
  }

  /**
   * Waits until the sink has accepted a list or a batch. Its errors are not errors of the source. If the attempt is aborted
   * meanwhile, the sink continues: `accepted` or `refused` is called before the next attempt begins.
   */
  async accepted(
    attempt: Attempt,
    accept: () => void | Promise<void>,
    accepted: () => void,
    refused: () => void = ignore,
  ): Promise<void> {
    const failed = (thrown: unknown): never => {
      refused()
      const error = thrown === ABORTED ? thrown : toSourceError(thrown, { phase: 'apply', source: this.#sourceName })
      // An aborted attempt has no outcome that would report the error.
      if (attempt.signal.aborted && error instanceof SourceError && error.code !== 'STOPPED')
        this.#hooks.onError?.(error)
      throw error
    }
    let accepting: void | Promise<void>
    try {
      accepting = accept()
    } catch (thrown) {
      return failed(thrown)
    }
    if (accepting === undefined) return accepted()
    const settled = accepting.then(accepted, failed)
    const ended = settled.catch(ignore).then(() => {
      if (this.accepting === ended) this.accepting = undefined
    })
    this.accepting = ended
    await attempt.pauseWatchdog(settled)
  }
}

function ignore(): void {}

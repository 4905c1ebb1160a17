import { OptionError } from '../../../src/contract/errors.js'
import type { ListContext, SourceContext, WatchBatch, WatchContext } from '../../../src/contract/source.js'
import { withKeepAliveBatches } from '../../common/keep-alive-batches.js'
import type { ClusterRoute } from './cluster-route.js'
import { isMoved, redisError } from './redis-errors.js'
import { openChecked, type Warnings } from './server-checks.js'
import type { Session } from './session.js'

export interface SessionRunnerSettings {
  readonly route: ClusterRoute
  readonly warnings: Warnings
  readonly blockMs: number
  readonly timeoutMs: number
  readonly mayEvict?: boolean
}

type RunWatch<T> = (session: Session, context: WatchContext) => AsyncGenerator<WatchBatch<T>>

export type RunContext = Pick<SourceContext, 'signal' | 'clock' | 'warn'>

/** Runs each list, watch and head of a source over a connection of its own, to a server that it has checked. */
export class SessionRunner {
  readonly #settings: SessionRunnerSettings

  constructor(settings: SessionRunnerSettings) {
    this.#settings = settings
  }

  /** One response may take longer than the core waits for a page, so arriving bytes are reported. */
  async *list<V>(context: ListContext, run: (session: Session) => AsyncGenerator<V>): AsyncGenerator<V> {
    const session = await this.#open(context)
    try {
      session.onData(() => context.alive?.())
      yield* run(session)
    } catch (error) {
      throw this.#failed(error)
    } finally {
      session.close()
    }
  }

  /** A watch whose slot has moved continues at the new master, without a failure. */
  async *watch<T>(context: WatchContext, run: RunWatch<T>): AsyncGenerator<WatchBatch<T>> {
    for (let current = context; ; ) {
      const begun = current
      try {
        for await (const batch of this.#watch(current, run)) {
          current = { ...current, after: batch.version, isUnconfirmed: false }
          yield batch
        }
        return
      } catch (error) {
        if (current === begun || !isMoved(error)) throw error
      }
    }
  }

  /** A watch repeats its last version as a bookmark while a large response arrives. */
  async *#watch<T>(context: WatchContext, run: RunWatch<T>): AsyncGenerator<WatchBatch<T>> {
    const session = await this.#open(context)
    const { after, clock, isUnconfirmed } = context
    const keepAlive = (last?: WatchBatch<T>): WatchBatch<T> | undefined =>
      last === undefined && isUnconfirmed === true ? undefined : { events: [], version: last?.version ?? after }
    try {
      const everyMs = this.#settings.blockMs
      yield* withKeepAliveBatches(run(session, context), { session, clock, everyMs, keepAlive })
    } catch (error) {
      throw this.#failed(error)
    }
  }

  async once<V>(context: RunContext, run: (session: Session) => Promise<V>): Promise<V> {
    const session = await this.#open(context)
    try {
      return await run(session)
    } catch (error) {
      throw this.#failed(error)
    } finally {
      session.close()
    }
  }

  async #open({ signal, clock, warn }: RunContext): Promise<Session> {
    const { route, warnings, timeoutMs, mayEvict = false } = this.#settings
    try {
      return await openChecked(route, { signal, clock, timeoutMs }, warnings(warn), mayEvict)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  /** The error of a run. The next run goes to the server that the error names, if it names one. */
  #failed(error: unknown): Error {
    this.#settings.route.noteFailure(error)
    return error instanceof OptionError ? error : redisError(error)
  }
}

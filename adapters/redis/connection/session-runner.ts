import { OptionError } from '../../../src/contract/errors.js'
import type { ListContext, SourceContext, WatchBatch, WatchContext } from '../../../src/contract/source.js'
import { withKeepAliveBatches } from '../../common/keep-alive-batches.js'
import type { ClusterRoute } from './cluster-route.js'
import { isMoved, redisError } from './redis-errors.js'
import { checkServer, type Warnings } from './server-checks.js'
import type { Session, SessionOptions } from './session.js'

/** The connections of one list or one watch. */
export interface Connected {
  readonly session: Session
  close(): void
}

export interface SessionRunnerSettings<C extends Connected> {
  readonly route: ClusterRoute
  readonly warnings: Warnings
  readonly blockMs: number
  readonly timeoutMs: number
  /** Whether the server may evict keys. */
  readonly mayEvict?: boolean
  open(options: SessionOptions): Promise<C>
}

type RunWatch<C, T> = (connected: C, context: WatchContext) => AsyncGenerator<WatchBatch<T>>

type RunContext = Pick<SourceContext, 'signal' | 'clock' | 'warn'>

/** Runs each list, watch and head of a source over connections of its own, to a server that it has checked. */
export class SessionRunner<C extends Connected> {
  readonly #settings: SessionRunnerSettings<C>

  constructor(settings: SessionRunnerSettings<C>) {
    this.#settings = settings
  }

  /**
   * A list reports to the core that bytes arrive, because one response may take longer than the core waits for a page.
   */
  async *list<V>(context: ListContext, run: (connected: C) => AsyncGenerator<V>): AsyncGenerator<V> {
    const connected = await this.#open(context)
    try {
      connected.session.onData(() => context.alive?.())
      yield* run(connected)
    } catch (error) {
      throw this.#failed(error)
    } finally {
      connected.close()
    }
  }

  /** A watch whose slot has moved continues at the new master, without a failure. */
  async *watch<T>(context: WatchContext, run: RunWatch<C, T>): AsyncGenerator<WatchBatch<T>> {
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
  async *#watch<T>(context: WatchContext, run: RunWatch<C, T>): AsyncGenerator<WatchBatch<T>> {
    const connected = await this.#open(context)
    const { session } = connected
    const { after, isUnconfirmed } = context
    const keepAlive = (last?: WatchBatch<T>): WatchBatch<T> | undefined =>
      last === undefined && isUnconfirmed === true ? undefined : { events: [], version: last?.version ?? after }
    try {
      yield* withKeepAliveBatches(run(connected, context), {
        session,
        clock: context.clock,
        everyMs: this.#settings.blockMs,
        keepAlive,
      })
    } catch (error) {
      throw this.#failed(error)
    } finally {
      connected.close()
    }
  }

  async once<V>(context: RunContext, run: (connected: C) => Promise<V>): Promise<V> {
    const connected = await this.#open(context)
    try {
      return await run(connected)
    } catch (error) {
      throw this.#failed(error)
    } finally {
      connected.close()
    }
  }

  async #open({ signal, clock, warn }: RunContext): Promise<C> {
    const { warnings, timeoutMs, mayEvict = false } = this.#settings
    let connected: C | undefined
    try {
      connected = await this.#settings.open({ signal, clock, timeoutMs })
      await checkServer(connected.session, warnings.through(warn), { mayEvict })
      return connected
    } catch (error) {
      connected?.close()
      throw this.#failed(error)
    }
  }

  /** The error of a run. The next run goes to the server that the error names, if it names one. */
  #failed(error: unknown): Error {
    this.#settings.route.noteFailure(error)
    return error instanceof OptionError ? error : redisError(error)
  }
}

/** A runner for sources that need a single connection. */
export function plainRunner(
  route: ClusterRoute,
  warnings: Warnings,
  { blockMs, timeoutMs }: { readonly blockMs: number; readonly timeoutMs: number },
): SessionRunner<Connected> {
  const open = async (options: SessionOptions): Promise<Connected> => {
    const session = await route.open(options)
    return { session, close: () => session.close() }
  }
  return new SessionRunner({ route, warnings, blockMs, timeoutMs, open })
}

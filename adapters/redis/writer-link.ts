import type { Clock } from '../../src/clock.js'
import { messageOf } from '../../src/errors.js'
import type { RedisReply } from './client.js'
import { isAnswer, isElsewhere } from './redis-errors.js'
import type { Route } from './route.js'
import { checkServer, type Warnings } from './server-checks.js'
import type { RedisCommand, Session } from './session.js'
import { RedisWriteError } from './write-error.js'

/** How often a command is brought to another server, after one that said that it is not the one. */
const MOST_MOVES = 3
/** Before the next, in milliseconds. */
const MOVE_MS = 100

export interface LinkSettings {
  readonly route: Route
  readonly clock: Clock
  readonly timeoutMs: number
  readonly warnings: Warnings
}

/**
 * A writer's own connection: made when it is needed, kept, and made anew after it was lost. What was sent over it is never sent again
 * unless the server has said that it did nothing.
 */
export class WriterLink {
  readonly #settings: LinkSettings
  readonly #closed = new AbortController()
  #opening: Promise<Session> | undefined
  #open: Session | undefined

  constructor(settings: LinkSettings) {
    this.#settings = settings
  }

  /** The answer, also one that says no, as an error. Rejects with a RedisWriteError where there was none. */
  async ask(command: RedisCommand): Promise<RedisReply | Error> {
    const { clock, route } = this.#settings
    for (let moves = 0; ; moves++) {
      const session = await this.#session()
      try {
        return await session.command(command)
      } catch (error) {
        if (!(error instanceof Error) || !isAnswer(error)) throw this.#lost(session, error)
        if (!isElsewhere(error) || moves === MOST_MOVES) return error
        route.follow(error)
        session.close()
        await clock.sleep(MOVE_MS, this.#closed.signal).catch(() => {})
      }
    }
  }

  close(): void {
    this.#closed.abort()
    this.#open?.close()
  }

  #lost(session: Session, error: unknown): RedisWriteError {
    session.close()
    return new RedisWriteError(
      'OUTCOME_UNKNOWN',
      `the answer was lost, whether it was written is not known: ${messageOf(error)}`,
      {
        cause: error,
      },
    )
  }

  async #session(): Promise<Session> {
    if (this.#open?.ending === undefined && this.#open !== undefined) return this.#open
    this.#opening ??= this.#connect()
    try {
      this.#open = await this.#opening
      return this.#open
    } catch (error) {
      throw new RedisWriteError('NOT_WRITTEN', `nothing was written: ${messageOf(error)}`, { cause: error })
    } finally {
      this.#opening = undefined
    }
  }

  async #connect(): Promise<Session> {
    const { route, clock, timeoutMs, warnings } = this.#settings
    if (this.#closed.signal.aborted) throw new Error('the writer was closed')
    const session = await route.open({ signal: this.#closed.signal, clock, timeoutMs })
    try {
      await checkServer(session, warnings)
      return session
    } catch (error) {
      session.close()
      throw error
    }
  }
}

import type { Clock } from '../../src/clock.js'
import { messageOf } from '../../src/errors.js'
import type { RedisReply } from './client.js'
import { isAnswer, isElsewhere, redisError, unavailable } from './redis-errors.js'
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

  /**
   * The answer; as an Error one that says no, or why nothing could be sent. Rejects with `OUTCOME_UNKNOWN` where the answer was lost.
   */
  async ask(command: RedisCommand): Promise<RedisReply | Error> {
    const { clock, route } = this.#settings
    for (let moves = 0; ; moves++) {
      const answer = await this.#askOnce(command)
      if (!(answer instanceof Error) || !isElsewhere(answer) || moves === MOST_MOVES) return answer
      route.follow(answer)
      this.#open?.close()
      await clock.sleep(MOVE_MS, this.#closed.signal).catch(() => {})
    }
  }

  close(): void {
    this.#closed.abort()
    this.#open?.close()
  }

  async #askOnce(command: RedisCommand): Promise<RedisReply | Error> {
    let session: Session
    try {
      session = await this.#session()
    } catch (error) {
      return redisError(error)
    }
    try {
      return await session.command(command)
    } catch (error) {
      if (error instanceof Error && isAnswer(error)) return error
      const message = `the answer was lost, whether it was written is not known: ${messageOf(error)}`
      throw new RedisWriteError('OUTCOME_UNKNOWN', message, { cause: error })
    }
  }

  async #session(): Promise<Session> {
    const open = this.#open
    if (open !== undefined && open.ending === undefined) return open
    this.#opening ??= this.#connect()
    return await this.#opening
  }

  async #connect(): Promise<Session> {
    const { route, clock, timeoutMs, warnings } = this.#settings
    let session: Session | undefined
    try {
      if (this.#closed.signal.aborted) throw unavailable('the writer was closed')
      session = await route.open({ signal: this.#closed.signal, clock, timeoutMs })
      await checkServer(session, warnings)
      this.#open = session
      return session
    } catch (error) {
      session?.close()
      throw error
    } finally {
      this.#opening = undefined
    }
  }
}

import type { Clock } from '../../../src/contract/clock.js'
import { messageOf, OptionError } from '../../../src/contract/errors.js'
import { unavailable } from '../../shared/source-errors.js'
import type { RedisReply } from '../connection/client.js'
import type { ClusterRoute } from '../connection/cluster-route.js'
import { isErrorReply, isRedirected, isSlotMigrating, isUnsent, redisError } from '../connection/redis-errors.js'
import { checkServer, type Warnings } from '../connection/server-checks.js'
import type { RedisCommand, Session } from '../connection/session.js'
import { RedisWriteError } from './write-error.js'

/** How often a command is sent to another server, after an answer that said that the keys are elsewhere. */
const MOST_MOVES = 3
/** Before the next attempt, in milliseconds. */
const MOVE_MS = 100

export interface WriterConnectionSettings {
  readonly route: ClusterRoute
  readonly clock: Clock
  readonly timeoutMs: number
  readonly warnings: Warnings
}

/**
 * A writer's own connection: made when it is needed, kept, and made anew after it was lost. What was sent over it is never sent again
 * unless the server has said that it did nothing.
 */
export class WriterConnection {
  readonly #settings: WriterConnectionSettings
  readonly #closed = new AbortController()
  #opening: Promise<Session> | undefined
  /** The connection for the next command. */
  #open: Session | undefined
  /** Connections and how many commands wait for an answer on each; those that are no longer `#open` are closed after the last one. */
  readonly #waiting = new Map<Session, number>()

  constructor(settings: WriterConnectionSettings) {
    this.#settings = settings
  }

  /**
   * The answer; as an Error one that says no, or why nothing could be sent. Rejects with `OUTCOME_UNKNOWN` where the answer was lost.
   */
  async send(command: RedisCommand): Promise<RedisReply | Error> {
    const { clock, timeoutMs } = this.#settings
    const since = clock.now()
    for (let moves = 0; ; ) {
      const answer = await this.#askOnce(command)
      if (!(answer instanceof Error)) return answer
      if (isRedirected(answer)) moves++
      else if (!isSlotMigrating(answer)) return answer
      if (moves > MOST_MOVES || clock.now() - since >= timeoutMs || this.#closed.signal.aborted) return answer
      await clock.sleep(MOVE_MS, this.#closed.signal).catch(() => {})
    }
  }

  close(): void {
    this.#closed.abort()
    for (const session of [...this.#waiting.keys()]) session.close()
    this.#open?.close()
  }

  async #askOnce(command: RedisCommand): Promise<RedisReply | Error> {
    let session: Session
    try {
      session = await this.#session()
    } catch (error) {
      if (error instanceof OptionError) throw error
      return redisError(error)
    }
    // It may have ended, or have been left, since it was chosen: nothing was sent over it.
    if (session.ending !== undefined) return this.#closed.signal.aborted ? session.ending : this.#askOnce(command)
    this.#waiting.set(session, (this.#waiting.get(session) ?? 0) + 1)
    try {
      return await session.command(command)
    } catch (error) {
      if (error instanceof Error && isErrorReply(error)) {
        if (isRedirected(error)) this.#leave(session, error)
        return error
      }
      if (isUnsent(error)) return redisError(error)
      const message = `the answer was lost, whether it was written is not known: ${messageOf(error)}`
      throw new RedisWriteError('OUTCOME_UNKNOWN', message, { cause: error })
    } finally {
      this.#answered(session)
    }
  }

  /** Later commands go to another server. Earlier ones may have been carried out here: their answers are waited for. */
  #leave(session: Session, error: Error): void {
    this.#settings.route.noteFailure(error)
    if (this.#open === session) this.#open = undefined
  }

  #answered(session: Session): void {
    const waiting = (this.#waiting.get(session) ?? 1) - 1
    if (waiting > 0) {
      this.#waiting.set(session, waiting)
      return
    }
    this.#waiting.delete(session)
    if (this.#open !== session) session.close()
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
      await checkServer(session, warnings.through(undefined))
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

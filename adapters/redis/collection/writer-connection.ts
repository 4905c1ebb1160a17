import type { Clock } from '../../../src/contract/clock.js'
import { messageOf, OptionError } from '../../../src/contract/errors.js'
import { unavailable } from '../../common/source-errors.js'
import type { RedisReply } from '../connection/client.js'
import type { ClusterRoute } from '../connection/cluster-route.js'
import {
  isDemoted,
  isErrorReply,
  isRedirected,
  isSlotMigrating,
  isUnsent,
  redisError,
} from '../connection/redis-errors.js'
import { openChecked, type Warnings } from '../connection/server-checks.js'
import type { RedisCommand, Session } from '../connection/session.js'
import { RedisWriteError } from './write-error.js'

const MAX_REDIRECTS = 10
/** The delay before the next attempt, in milliseconds. It doubles while servers respond that they are replicas. */
const REDIRECT_DELAY_MS = 100
const MOST_DOUBLINGS = 3

export interface WriterConnectionSettings {
  readonly route: ClusterRoute
  readonly clock: Clock
  readonly timeoutMs: number
  readonly warnings: Warnings
}

/** Is reopened after a loss. A command is sent again only if the server responded that it did nothing. */
export class WriterConnection {
  readonly #settings: WriterConnectionSettings
  readonly #closed = new AbortController()
  #opening: Promise<Session> | undefined
  /** The number of responses of replicas since the last one of a master. */
  #demotions = 0
  #open: Session | undefined
  /** The number of pending commands of each session. A session other than `#open` is closed after its last response. */
  readonly #pending = new Map<Session, number>()

  constructor(settings: WriterConnectionSettings) {
    this.#settings = settings
  }

  /** The reply, or the reason why nothing was written. Rejects with `OUTCOME_UNKNOWN` if the response was lost. */
  async send(command: RedisCommand): Promise<RedisReply | Error> {
    const { clock, timeoutMs } = this.#settings
    const since = clock.now()
    for (let redirects = 0; ; ) {
      const answer = await this.#sendOnce(command)
      if (!(answer instanceof Error)) {
        this.#demotions = 0
        return answer
      }
      let delayMs = REDIRECT_DELAY_MS
      if (isDemoted(answer)) delayMs *= 2 ** Math.min(this.#demotions++, MOST_DOUBLINGS)
      if (isRedirected(answer)) redirects++
      else if (!isSlotMigrating(answer)) return answer
      if (redirects > MAX_REDIRECTS || clock.now() - since >= timeoutMs || this.#closed.signal.aborted) return answer
      await clock.sleep(delayMs, this.#closed.signal).catch(() => {})
    }
  }

  close(): void {
    this.#closed.abort()
    for (const session of [...this.#pending.keys()]) session.close()
    this.#open?.close()
  }

  async #sendOnce(command: RedisCommand): Promise<RedisReply | Error> {
    let session: Session
    try {
      session = await this.#session()
    } catch (error) {
      if (error instanceof OptionError) throw error
      return redisError(error)
    }
    // The session may have ended since it was chosen. Nothing was sent over it.
    if (session.ending !== undefined) return this.#closed.signal.aborted ? session.ending : this.#sendOnce(command)
    this.#pending.set(session, (this.#pending.get(session) ?? 0) + 1)
    try {
      return await session.command(command)
    } catch (error) {
      if (error instanceof Error && isErrorReply(error)) {
        if (isRedirected(error)) this.#redirect(session, error)
        return error
      }
      if (isUnsent(error)) return redisError(error)
      const message = `the response was lost, and it is unknown whether the changes were written: ${messageOf(error)}`
      throw new RedisWriteError('OUTCOME_UNKNOWN', message, { cause: error })
    } finally {
      this.#settled(session)
    }
  }

  /** Earlier commands may have been executed here, so their responses are awaited. */
  #redirect(session: Session, error: Error): void {
    this.#settings.route.noteFailure(error)
    if (this.#open === session) this.#open = undefined
  }

  #settled(session: Session): void {
    const pending = (this.#pending.get(session) ?? 1) - 1
    if (pending > 0) {
      this.#pending.set(session, pending)
      return
    }
    this.#pending.delete(session)
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
    const { signal } = this.#closed
    try {
      if (signal.aborted) throw unavailable('the writer was closed')
      this.#open = await openChecked(route, { signal, clock, timeoutMs }, warnings(undefined))
      return this.#open
    } finally {
      this.#opening = undefined
    }
  }
}

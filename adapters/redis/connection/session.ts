import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED, messageOf, SourceError } from '../../../src/contract/errors.js'
import { DeadlineScope } from '../../shared/deadline-scope.js'
import { unavailable } from '../../shared/source-errors.js'
import type { RedisArgument, RedisConnection, RedisReply, SingleClient } from './client.js'
import { isErrorReply, isNotAllowed, redisError } from './redis-errors.js'
import { onSentinel, type SentinelConnection } from './sentinel-connection.js'

export interface SessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A connection counts as lost if a command waits and nothing is received for this many milliseconds. Its socket is destroyed. */
  readonly timeoutMs: number
}

export type RedisCommand = readonly [name: string, ...args: RedisArgument[]]

/**
 * How a connection of ours differs from the user's: it never connects again, never sends anything twice, and waits for
 * nothing on its own. One wire for all versions of the driver.
 */
function ownOptions(timeoutMs: number): object {
  return {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    enableAutoPipelining: false,
    autoResendUnfulfilledCommands: false,
    autoResubscribe: false,
    maxRetriesPerRequest: 0,
    retryStrategy: null,
    reconnectOnError: null,
    sentinelRetryStrategy: null,
    sentinelReconnectStrategy: null,
    failoverDetector: false,
    sentinelCommandTimeout: timeoutMs,
    connectTimeout: timeoutMs,
    commandTimeout: undefined,
    blockingTimeout: undefined,
    socketTimeout: undefined,
    keepAlive: 5_000,
    monitor: false,
    readOnly: false,
    stringNumbers: false,
    keyPrefix: '',
    scripts: undefined,
    himportFieldsets: undefined,
    protocol: 2,
    replyMapping: 'legacy',
    connectionName: 'listwatch',
  }
}

/** ARGV: of each command, of how many words it is, and these. */
const READING_SCRIPT = `
local replies, i = {}, 1
while i <= #ARGV do
  local words = tonumber(ARGV[i])
  replies[#replies + 1] = redis.pcall(unpack(ARGV, i + 1, i + words))
  i = i + words + 1
end
return replies
`

/**
 * One connection of our own, with a deadline on everything: no driver notices a peer that is gone without a word.
 * Rejects with SourceErrors; after one that is not an answer of the server it is of no use any more.
 */
export class Session {
  /** For messages: `host:port`. */
  readonly address: string
  readonly #connection: RedisConnection
  readonly #options: SessionOptions
  readonly #scope: DeadlineScope
  /** That was asked last, for where to connect to. */
  #sentinel: SentinelConnection | undefined
  #hasAnswered = false
  #receivedAt: number

  private constructor(connection: RedisConnection, options: SessionOptions) {
    this.#connection = connection
    this.#options = options
    this.#receivedAt = options.clock.now()
    this.#scope = new DeadlineScope(options)
    this.#scope.onEnd(() => this.#disconnect())
    const { host, port, path } = connection.options
    this.address = path ?? `${host ?? 'localhost'}:${port ?? 6379}`
    onSentinel(connection, (asked) => {
      this.#sentinel = asked
    })
    // Also of what the driver only mentions: where SELECT is refused it goes on, with another database.
    connection.on('error', (error) => this.destroy(this.#lost(error)))
    connection.on('close', () => this.destroy(unavailable(`${this.address} closed the connection${this.#hint}`)))
  }

  /** Connects as `client` would, with its credentials; `where` names another host and port. */
  static async open(client: SingleClient, options: SessionOptions, where: object = {}): Promise<Session> {
    options.signal.throwIfAborted()
    const connection = client.duplicate({ ...ownOptions(options.timeoutMs), ...where }) as RedisConnection
    const session = new Session(connection, options)
    await session.#timed(connection.connect(), options.timeoutMs)
    session.#hasAnswered = false // That was the network.
    session.onData(() => {
      session.#receivedAt = options.clock.now()
    })
    return session
  }

  /** Why it is of no use any more. */
  get ending(): SourceError | undefined {
    return this.#scope.ending
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** When bytes of the server came last, by the clock. */
  get receivedAt(): number {
    return this.#receivedAt
  }

  /** One command and its answer. Calls may overlap; answers come in the order of the calls. */
  command(command: RedisCommand, timeoutMs: number = this.#options.timeoutMs): Promise<RedisReply> {
    return this.#timed(this.#connection.callBuffer(...command) as Promise<RedisReply>, timeoutMs, command)
  }

  /**
   * The same, with strings for texts: much quicker. What has bytes that are no UTF-8, and what looks as if it had, is asked for
   * again, as bytes.
   */
  async texts(command: RedisCommand, timeoutMs: number = this.#options.timeoutMs): Promise<RedisReply> {
    const reply = await this.#texts(command, timeoutMs)
    return isDamaged(reply) ? await this.command(command, timeoutMs) : reply
  }

  /** These commands at one moment; they must only read. With `isText` as `texts` does. */
  async transaction(commands: readonly RedisCommand[], isText = false): Promise<readonly RedisReply[]> {
    const last: RedisCommand = ['EXEC']
    const settled = await Promise.allSettled([
      ...[['MULTI'] as const, ...commands].map((each) => this.command(each)),
      isText ? this.#texts(last) : this.command(last),
    ])
    const refused = settled.find((each) => each.status === 'rejected')
    // A server that is short of memory takes no transaction, not even one that only reads; a script, it does.
    if (/^OOM /.test(messageOf(refused?.reason))) {
      return await this.#readAtOnce(commands).catch((error: unknown) => {
        throw isNotAllowed(error) ? refused?.reason : error
      })
    }
    if (refused !== undefined) throw refused.reason
    const answer = settled.at(-1)
    const replies = repliesOf(answer?.status === 'fulfilled' ? answer.value : null, commands)
    return isDamaged(replies) ? await this.transaction(commands) : replies
  }

  async #readAtOnce(commands: readonly RedisCommand[]): Promise<readonly RedisReply[]> {
    const words = commands.flatMap((command) => [command.length, ...command])
    return repliesOf(await this.command(['EVAL', READING_SCRIPT, 0, ...words]), commands)
  }

  #texts(command: RedisCommand, timeoutMs: number = this.#options.timeoutMs): Promise<RedisReply> {
    return this.#timed(this.#connection.call(...command) as Promise<RedisReply>, timeoutMs, command)
  }

  /** Told of every message on the channels that this connection has subscribed to. */
  onMessage(listener: (message: RedisReply) => void): void {
    this.#connection.on('messageBuffer', (_channel, message) => listener(message))
  }

  /** Calls `listener` when bytes arrive. */
  onData(listener: () => void): void {
    this.#connection.stream?.on('data', listener)
  }

  /** Calls `listener` when the session ends. */
  onEnd(listener: (error: SourceError) => void): void {
    this.#scope.onEnd(listener)
  }

  close(): void {
    this.destroy(ABORTED)
  }

  /** Ends all commands under way with `error`, and closes the connection. */
  destroy(error: SourceError): void {
    this.#scope.end(error)
  }

  #disconnect(): void {
    for (const each of [this.#connection, this.#sentinel]) {
      each?.disconnect()
      each?.stream?.destroy() // Otherwise it waits until the peer closes its side.
    }
  }

  /** What to look at where nothing was ever heard. */
  get #hint(): string {
    return this.#hasAnswered
      ? ''
      : " (if nothing ever comes, check the client's port and option tls, and the server's maxclients)"
  }

  /** The result of `work`, unless nothing is received for `timeoutMs`. A large response may take longer. */
  #timed<V>(work: Promise<V>, timeoutMs: number, command?: RedisCommand): Promise<V> {
    const { clock } = this.#options
    let since = clock.now()
    const outcome = work.then(
      (value) => {
        this.#hasAnswered = true
        return value
      },
      (error: unknown) => {
        throw this.ending ?? this.#meaning(error, command)
      },
    )
    return this.#scope.race(outcome, {
      ms: timeoutMs,
      extendMs: () => {
        if (this.#receivedAt <= since) return undefined
        since = this.#receivedAt
        return since + timeoutMs - clock.now()
      },
      late: () => {
        const error = unavailable(`no answer from ${this.address} for ${timeoutMs} ms${this.#hint}`)
        this.destroy(error)
        throw error
      },
    })
  }

  /** An answer that says no; anything else is the end of the connection. */
  #meaning(error: unknown, command?: RedisCommand): SourceError {
    const meaning = this.#lost(error, command)
    if (!isErrorReply(error)) this.destroy(meaning)
    return meaning
  }

  #lost(error: unknown, command?: RedisCommand): SourceError {
    const meaning = redisError(error, command)
    return /ECONNRESET|EPIPE/.test(meaning.message) ? unavailable(meaning.message + this.#hint) : meaning
  }
}

/** What was answered to each command of several; throws where one was refused. */
function repliesOf(reply: RedisReply, commands: readonly RedisCommand[]): readonly RedisReply[] {
  const replies = Array.isArray(reply) ? (reply as RedisReply[]) : []
  for (const [at, each] of replies.entries()) if (each instanceof Error) throw redisError(each, commands[at])
  return replies
}

/** Whether there is a character that stands for bytes which are no UTF-8; it may also be itself. */
function isDamaged(reply: RedisReply): boolean {
  if (typeof reply === 'string') return reply.includes('\ufffd')
  return Array.isArray(reply) && (reply as readonly RedisReply[]).some(isDamaged)
}

/** The text of an answer. */
export function textOf(reply: RedisReply | undefined): string {
  if (Buffer.isBuffer(reply)) return reply.toString()
  if (typeof reply === 'string' || typeof reply === 'number') return String(reply)
  throw new SourceError(`unexpected answer: ${messageOf(reply)}`, { code: 'PROTOCOL' })
}

import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED, messageOf, SourceError } from '../../../src/contract/errors.js'
import { DeadlineScope } from '../../common/deadline-scope.js'
import { hasMethods, propertiesOf } from '../../common/properties.js'
import { unavailable } from '../../common/source-errors.js'
import { type RedisArgument, type RedisConnection, type RedisReply, repliesIn, type SingleClient } from './client.js'
import { isErrorReply, isNotAllowed, redisError } from './redis-errors.js'

export interface SessionOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  /** A connection counts as lost if a command waits and nothing is received for this many milliseconds. */
  readonly timeoutMs: number
}

export type RedisCommand = readonly [name: string, ...args: RedisArgument[]]

/**
 * The options in which a session differs from the user's client. It never reconnects, never resends a command, and has
 * no timeouts of its own. All versions of the driver use the same protocol.
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

/** ARGV: for each command, its number of words, and the words. */
const READING_SCRIPT = `
local replies, i = {}, 1
while i <= #ARGV do
  local words = tonumber(ARGV[i])
  replies[#replies + 1] = redis.pcall(unpack(ARGV, i + 1, i + words))
  i = i + words + 1
end
return replies
`

/** Rejects with SourceErrors. An error other than an error reply of the server ends the session. */
export class Session {
  /** `host:port`, or the name of a master that Sentinels know, for messages. */
  readonly address: string
  readonly #connection: RedisConnection
  readonly #options: SessionOptions
  readonly #scope: DeadlineScope
  #sentinel: SentinelConnection | undefined
  #hasResponded = false
  /** When bytes last arrived, by the clock. */
  receivedAt: number

  private constructor(connection: RedisConnection, options: SessionOptions) {
    this.#connection = connection
    this.#options = options
    this.receivedAt = options.clock.now()
    this.#scope = new DeadlineScope(options)
    this.#scope.onEnd(() => this.#disconnect())
    const { host, port, path } = connection.options
    const { sentinels, name } = propertiesOf(connection.options)
    const found = !Array.isArray(sentinels)
      ? `${host ?? 'localhost'}:${port ?? 6379}`
      : `the master "${name}" of the Sentinels`
    this.address = path ?? found
    onSentinel(connection, (sentinel) => {
      this.#sentinel = sentinel
    })
    // Also for errors that the driver ignores: after a rejected SELECT it would continue with another database.
    connection.on('error', (error) => this.destroy(this.#lost(error)))
    connection.on('close', () => this.destroy(unavailable(`${this.address} closed the connection${this.#hint}`)))
  }

  /** Connects with the options of `client`. `target` has another host and port. */
  static async open(client: SingleClient, options: SessionOptions, target: object = {}): Promise<Session> {
    options.signal.throwIfAborted()
    const connection = client.duplicate({ ...ownOptions(options.timeoutMs), ...target }) as RedisConnection
    const session = new Session(connection, options)
    await session.#timed(connection.connect(), options.timeoutMs)
    session.#hasResponded = false // Only the connection was established.
    session.onData(() => {
      session.receivedAt = options.clock.now()
    })
    return session
  }

  get ending(): SourceError | undefined {
    return this.#scope.ending
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** Sends a command. Calls may overlap; replies arrive in the order of the calls. */
  command(command: RedisCommand, timeoutMs: number = this.#options.timeoutMs): Promise<RedisReply> {
    return this.#timed(this.#connection.callBuffer(...command), timeoutMs, command)
  }

  /** Executes commands atomically. They must only read. */
  async transaction(commands: readonly RedisCommand[]): Promise<readonly RedisReply[]> {
    const all: readonly RedisCommand[] = [['MULTI'], ...commands, ['EXEC']]
    const { stream } = this.#connection
    stream?.cork?.() // The driver writes each command by itself, which takes a system call.
    const replies = all.map((each) => this.command(each))
    stream?.uncork?.()
    const settled = await Promise.allSettled(replies)
    const rejected = settled.find((each) => each.status === 'rejected')
    // A server that is short of memory rejects each transaction, even if it only reads. It accepts a script.
    if (/^OOM /.test(messageOf(rejected?.reason))) {
      return await this.#readAtOnce(commands).catch((error: unknown) => {
        throw isNotAllowed(error) ? rejected?.reason : error
      })
    }
    if (rejected !== undefined) throw rejected.reason
    const answer = settled.at(-1)
    return repliesOf(answer?.status === 'fulfilled' ? answer.value : null, commands)
  }

  async #readAtOnce(commands: readonly RedisCommand[]): Promise<readonly RedisReply[]> {
    const words = commands.flatMap((command) => [command.length, ...command])
    return repliesOf(await this.command(['EVAL', READING_SCRIPT, 0, ...words]), commands)
  }

  onMessage(listener: (message: RedisReply) => void): void {
    this.#connection.on('messageBuffer', (_channel, message) => listener(message))
  }

  onData(listener: () => void): void {
    this.#connection.stream?.on('data', listener)
  }

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

  get #hint(): string {
    return this.#hasResponded
      ? ''
      : " (if this is repeated, check the client's port and option tls, and the server's maxclients)"
  }

  /** The result of `work`, unless nothing is received for `timeoutMs`. A large response may take longer. */
  #timed<V>(work: Promise<V>, timeoutMs: number, command?: RedisCommand): Promise<V> {
    const { clock } = this.#options
    let since = clock.now()
    const outcome = work.then(
      (value) => {
        this.#hasResponded = true
        return value
      },
      (error: unknown) => {
        throw this.ending ?? this.#sourceError(error, command)
      },
    )
    return this.#scope.race(outcome, {
      ms: timeoutMs,
      extendMs: () => {
        if (this.receivedAt <= since) return undefined
        since = this.receivedAt
        return since + timeoutMs - clock.now()
      },
      late: () => {
        const error = unavailable(`no response from ${this.address} for ${Math.round(timeoutMs)} ms${this.#hint}`)
        this.destroy(error)
        throw error
      },
    })
  }

  #sourceError(error: unknown, command?: RedisCommand): SourceError {
    const meaning = this.#lost(error, command)
    if (!isErrorReply(error)) this.destroy(meaning)
    return meaning
  }

  #lost(error: unknown, command?: RedisCommand): SourceError {
    const meaning = redisError(error, command)
    return /ECONNRESET|EPIPE/.test(meaning.message) ? unavailable(meaning.message + this.#hint) : meaning
  }
}

function repliesOf(reply: RedisReply, commands: readonly RedisCommand[]): readonly RedisReply[] {
  const replies = repliesIn(reply)
  for (const [at, each] of replies.entries()) if (each instanceof Error) throw redisError(each, commands[at])
  return replies
}

export function textOf(reply: RedisReply | undefined): string {
  if (Buffer.isBuffer(reply)) return reply.toString()
  if (typeof reply === 'string' || typeof reply === 'number') return String(reply)
  throw new SourceError(`unexpected reply: ${messageOf(reply)}`, { code: 'PROTOCOL' })
}

/** A connection of the driver to a Sentinel, to find the master. */
type SentinelConnection = Pick<RedisConnection, 'disconnect' | 'stream'>

/**
 * Calls `listener` with each connection to a Sentinel that `connection` opens. The driver has no other way to close a
 * silent one early. The listener is not called if the client has no Sentinels, or if the driver's internals differ.
 */
function onSentinel(connection: RedisConnection, listener: (sentinel: SentinelConnection) => void): void {
  const { connector } = propertiesOf(connection)
  const { connectToSentinel } = propertiesOf(connector)
  if (typeof connectToSentinel !== 'function') return
  const connect = (...args: unknown[]): unknown => {
    const sentinel: unknown = connectToSentinel.apply(connector, args)
    if (isConnection(sentinel)) listener(sentinel)
    return sentinel
  }
  Object.assign(Object(connector), { connectToSentinel: connect })
}

function isConnection(value: unknown): value is SentinelConnection {
  return hasMethods(value, 'disconnect')
}

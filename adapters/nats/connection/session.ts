import { randomUUID } from 'node:crypto'
import type { Clock } from '../../../src/contract/clock.js'
import { messageOf, OptionError, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { DeadlineScope } from '../../common/deadline-scope.js'
import { propertiesOf } from '../../common/properties.js'
import { unavailable } from '../../common/source-errors.js'
import { type StoredMessage, storedMessage } from '../messages/stored-message.js'
import type { NatsKvSourceOptions } from '../nats-options.js'
import type { NatsClient, NatsMessage } from './nats-client.js'

export interface SessionOptions {
  readonly client: NatsClient
  /** The prefix of JetStream's subjects: `$JS.API.` or that of a domain. */
  readonly prefix: string
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly timeoutMs: number
}

interface ApiError {
  readonly code?: number
  readonly err_code?: number
  readonly description?: string
}

const CLOSED =
  'the NATS connection is closed: stop the informer, controller or relay before you close it; if the server may refuse its login for a while, connect with maxReconnectAttempts: -1 and ignoreAuthErrorAbort: true'
const STREAM_NOT_FOUND = 10_059
const NO_MESSAGE_FOUND = 10_037
export const BAD_REQUEST = 400
/** The number of timeouts that a wait lasts at most, while stored messages arrive. */
const MOST_TIMEOUTS = 6
export const NO_RESPONDERS = 503

/** The headers of a message, as they are sent and stored. */
export function encodedHeaders(headers: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.from(`NATS/1.0\r\n${lines.join('')}\r\n`)
}

/** The requests of one list or watch. It ends with the connection, because requests under way are lost with it. */
export class Session {
  readonly clock: Clock
  readonly #options: SessionOptions
  readonly #scope: DeadlineScope
  readonly #inbox: string
  readonly #receivers = new Map<string, (message: NatsMessage) => void>()
  readonly #consumers = new Map<string, (message: StoredMessage) => void>()
  readonly #subscription: { unsubscribe(): void }
  readonly #status: AsyncIterable<{ readonly type: string }>
  /** Sends the requests again that have no response yet. A connection drops what is sent before it is open again. */
  readonly #unanswered = new Set<() => void>()
  readonly #pending = new Set<string>()
  #storedAt = 0
  #names = 0

  constructor(options: SessionOptions) {
    const { client, signal } = options
    signal.throwIfAborted()
    if (client.isClosed() || client.isDraining()) throw new OptionError(CLOSED, { option: 'client' })
    this.clock = options.clock
    this.#options = options
    this.#scope = new DeadlineScope(options)
    const prefix = propertiesOf(propertiesOf(client)['options'])['inboxPrefix']
    this.#inbox = `${typeof prefix === 'string' ? prefix : '_INBOX'}.${uniqueName()}`
    this.#subscription = client.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => (error === null ? this.#received(message) : this.#scope.end(clientError(error))),
    })
    this.#status = client.status()
    void this.#observe()
  }

  end(error: SourceError): void {
    this.#scope.end(error)
  }

  onEnd(listener: (error: SourceError) => void): void {
    this.#scope.onEnd(listener)
    if (this.#scope.ending !== undefined) listener(this.#scope.ending)
  }

  /** Calls `receive` for each stored message that the consumer delivers. Returns a function that removes it. */
  onStored(consumer: string, receive: (message: StoredMessage) => void): () => void {
    this.#consumers.set(consumer, receive)
    return () => void this.#consumers.delete(consumer)
  }

  /** Calls `receive` for each reply to messages that are sent with the returned subject. */
  receiver(receive: (message: NatsMessage) => void): { readonly subject: string; remove(): void } {
    const name = String(++this.#names)
    this.#receivers.set(name, receive)
    return { subject: `${this.#inbox}.${name}`, remove: () => void this.#receivers.delete(name) }
  }

  publish(subject: string, body: object, reply?: string): void {
    this.assertOpen()
    const options = reply === undefined ? {} : { reply }
    this.#options.client.publish(this.#options.prefix + subject, JSON.stringify(body), options)
  }

  store(subject: string, payload: string, headers: Readonly<Record<string, string>>, reply?: string): void {
    this.assertOpen()
    const encoded = encodedHeaders(headers)
    const options = { ...(reply === undefined ? {} : { reply }), headers: { encode: () => encoded } }
    this.#options.client.publish(subject, payload, options)
  }

  /** The same, and waits for the response of the stream. The message is sent once. */
  async storeAndWait<R extends object>(
    subject: string,
    payload: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<R> {
    const send = (reply: string): void => this.store(subject, payload, headers, reply)
    const { data, headers: status } = await this.#response(subject, send, 'the stream did not confirm a write', false)
    if (status?.code === NO_RESPONDERS) throw unavailable('no stream stores the subject')
    return JSON.parse(Buffer.from(data).toString()) as R
  }

  /** The response to a request; undefined if it is about a message that does not exist. */
  async request<R extends object>(subject: string, body: object = {}): Promise<R | undefined> {
    const send = (reply: string): void => this.publish(subject, body, reply)
    const late = `${subject.split('.').slice(0, 2).join('.')} timed out`
    const { data, headers } = await this.#response(this.#options.prefix + subject, send, late, true)
    if (headers?.code === NO_RESPONDERS) throw unavailable('JetStream does not respond: it is not enabled, or starts')
    const value: unknown = JSON.parse(Buffer.from(data).toString())
    const error = propertiesOf(value)['error'] as ApiError | undefined
    if (error === undefined) return value as R
    if (error.err_code === NO_MESSAGE_FOUND) return undefined
    throw apiError(error)
  }

  /** Sends a message, again after a reconnect if `isRepeated`, and waits for its response. */
  async #response(
    subject: string,
    send: (reply: string) => void,
    late: string,
    isRepeated: boolean,
  ): Promise<NatsMessage> {
    const { promise, resolve } = Promise.withResolvers<NatsMessage>()
    const reply = this.receiver(resolve)
    const sendNow = (): void => send(reply.subject)
    if (isRepeated) this.#unanswered.add(sendNow)
    this.#pending.add(subject)
    try {
      sendNow()
      return await this.wait(promise, late)
    } finally {
      reply.remove()
      this.#unanswered.delete(sendNow)
      this.#pending.delete(subject)
    }
  }

  /**
   * The result of `work`; rejects when the session ends, and if nothing arrives for `timeoutMs` and `moreMs`. On a slow
   * line a response may wait behind stored messages, up to six times as long. A heartbeat of a watch delays nothing.
   */
  wait<V>(work: Promise<V>, message: string, moreMs = 0): Promise<V> {
    const ms = this.#options.timeoutMs + moreMs
    const startedAt = this.clock.now()
    return this.#scope.race(work, {
      ms,
      extendMs: () => {
        const leftMs = Math.min(this.#storedAt + ms, startedAt + MOST_TIMEOUTS * ms) - this.clock.now()
        return this.#storedAt > startedAt && leftMs > 0 ? leftMs : undefined
      },
      late: () => {
        throw unavailable(message + this.#server)
      },
    })
  }

  async pause(ms: number): Promise<void> {
    await this.#scope.race(new Promise<never>(() => {}), { ms, late: () => undefined })
  }

  /** The id of the connected server, which another start of the server changes. */
  get serverId(): string {
    const { server_id: id } = propertiesOf(propertiesOf(this.#options.client)['info'])
    return typeof id === 'string' ? id : ''
  }

  get #server(): string {
    const { client } = this.#options
    const { getServer } = propertiesOf(client)
    const address: unknown = typeof getServer === 'function' ? getServer.call(client) : ''
    return typeof address === 'string' && address !== '' ? ` (${address})` : ''
  }

  get isOpen(): boolean {
    return this.#scope.ending === undefined
  }

  assertOpen(): void {
    if (this.#scope.ending !== undefined) throw this.#scope.ending
  }

  close(): void {
    this.#scope.end(unavailable('the session was closed'))
    if (!this.#options.client.isClosed()) this.#subscription.unsubscribe()
    this.#receivers.clear()
    this.#consumers.clear()
    const { stop } = propertiesOf(this.#status)
    if (typeof stop === 'function') stop.call(this.#status)
  }

  /** Sends a message although the session may have ended, for example to remove a consumer. */
  farewell(subject: string): void {
    const { client, prefix } = this.#options
    if (!client.isClosed() && !client.isDraining()) client.publish(prefix + subject, '')
  }

  #received(message: NatsMessage): void {
    const { subject } = message
    if (subject.startsWith(`${this.#inbox}.`)) {
      this.#receivers.get(subject.slice(this.#inbox.length + 1))?.(message)
      return
    }
    // JetStream delivers a stored message under its own subject.
    this.#storedAt = this.clock.now()
    const stored = storedMessage(message)
    if (stored !== undefined) this.#consumers.get(stored.consumer)?.(stored)
  }

  async #observe(): Promise<void> {
    try {
      for await (const event of this.#status) {
        if (event.type === 'reconnect') for (const send of this.#unanswered) send()
        if (event.type === 'disconnect') this.#scope.end(unavailable(`the connection was lost${this.#server}`))
        if (event.type === 'close') this.#scope.end(unavailable('the connection was closed'))
        const { error } = event as { error?: unknown }
        if (event.type === 'error' && this.#isOurs(error)) this.#scope.end(clientError(error))
      }
    } catch (error) {
      this.#scope.end(unavailable(messageOf(error), error))
    }
  }

  /** Whether the server refused the login, or a subject of this session. The program may send other requests. */
  #isOurs(error: unknown): boolean {
    const { subject } = propertiesOf(error)
    if (subject === undefined) return isRefusal(messageOf(error))
    if (typeof subject !== 'string') return false
    const isOfConsumer = [...this.#consumers.keys()].some((name) => subject.endsWith(`.${name}`))
    return isOfConsumer || this.#pending.has(subject) || subject.startsWith(this.#inbox)
  }
}

const TIMEOUT_MS = 10_000

export function sessionOf(
  { client, domain, timeoutMs = TIMEOUT_MS }: Pick<NatsKvSourceOptions<unknown>, 'client' | 'domain' | 'timeoutMs'>,
  { signal, clock }: Pick<SessionOptions, 'signal' | 'clock'>,
): Session {
  const prefix = domain === undefined ? '$JS.API.' : `$JS.${domain}.API.`
  return new Session({ client, prefix, signal, clock, timeoutMs })
}

/** Differs from the names of all other processes that use the server. */
export function uniqueName(): string {
  return randomUUID()
}

function clientError(thrown: unknown): SourceError {
  const message = messageOf(thrown)
  return new SourceError(message, { code: isRefusal(message) ? 'UNAUTHORIZED' : 'UNAVAILABLE', cause: thrown })
}

function isRefusal(message: string): boolean {
  return /permissions? violation|authorization|authentication/i.test(message)
}

function apiError({ code = 0, err_code: id = 0, description = '' }: ApiError): SourceError {
  return new SourceError(`${description} (${id})`, { code: codeOf(code, id) })
}

function codeOf(code: number, id: number): SourceErrorCode {
  if (id === STREAM_NOT_FOUND) return 'NOT_FOUND'
  return code === BAD_REQUEST ? 'PROTOCOL' : 'UNAVAILABLE'
}

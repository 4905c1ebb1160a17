import { unavailable } from '../../common/source-errors.js'
import type { NatsMessage } from '../connection/nats-client.js'
import { BAD_REQUEST, NO_RESPONDERS, type Session, uniqueName } from '../connection/session.js'
import { StateCut } from '../state-cut.js'
import { HeldMessages } from './held-messages.js'
import type { StoredMessage } from './stored-message.js'

export interface Delivered {
  readonly messages: readonly StoredMessage[]
  /** Everything up to this sequence has been delivered or does not match the filters. */
  readonly position: number
  /** Whether the consumer had nothing more. */
  readonly isEnd: boolean
  /** Whether messages may have been replaced before their delivery: their sequences are missing. */
  readonly hasGap: boolean
  /** Whether the last message is in the middle of an atomic batch. */
  readonly isInBatch: boolean
}

export interface ConsumerOptions {
  readonly session: Session
  readonly stream: string
  readonly filters: readonly string[]
  /** The first sequence; undefined for the newest message of each subject. */
  readonly from?: number
  readonly isHeadersOnly?: boolean
  /** Whether the reader ends at the end of what there is. Default: if `from` is undefined. */
  readonly isOnce?: boolean
  /** Whether every state must be one that the stream had, however long that takes. */
  readonly isExact: boolean
  /** Reads the sequence of the last message that matches the filters, or a later one. */
  lastSeq(): Promise<number>
  readonly pullSize: number
  /** The distance of the server's heartbeats, in milliseconds. */
  readonly heartbeatMs: number
}

/** The server removes a consumer that has no reader for this time, if it could not be removed. */
const INACTIVE_MS = 30_000
/** Of one pull: other responses wait behind it on a slow line. A larger message is read alone. */
const MAX_BYTES = 1024 * 1024
const MS = 1_000_000
const HEARTBEAT = 100
const CONFLICT = 409
/** A short pull: the server looks for messages at once, and its heartbeat has the position. */
const PROBE_MS = 20
/** A busy server may send its first heartbeat late. */
const PROBE_LIFE_MS = 500
/** The size of pulls that must be faster than a writer. */
const LAST_PULL_SIZE = 500
/** The distance of their heartbeats, in milliseconds: a heartbeat has the position. */
const LAST_PULL_MS = 100
const MOST_PROBES = 100

/** An ephemeral pull consumer of a stream. Nothing is acknowledged: a lost delivery ends the session. */
export class Consumer {
  readonly #options: ConsumerOptions
  readonly #name: string
  readonly #unlink: () => void
  readonly #receivers: Record<'replies' | 'probes', { readonly subject: string; remove(): void }>
  #messages: StoredMessage[] = []
  #position: number
  #delivery = 0
  /** The messages that the current pull has yet to deliver. */
  #due = 0
  #isAlone = false
  #hasNews = false
  #isEnd = false
  #hasGap = false
  #isInBatch = false
  #isProbing = false
  #pullSize: number
  /** The distance of the heartbeats of a pull that waits for messages, in milliseconds; 0 if it does not wait. */
  #waitMs: number
  #wake: () => void = () => {}

  private constructor(options: ConsumerOptions, name: string) {
    const { session, from = 1, heartbeatMs, isOnce = options.from === undefined } = options
    this.#options = options
    this.#waitMs = isOnce ? 0 : heartbeatMs
    this.#name = name
    this.#position = from - 1
    this.#pullSize = options.pullSize
    this.#unlink = session.onStored(name, (message) => this.#stored(message))
    this.#receivers = {
      replies: session.receiver((message) => this.#replied(message, false)),
      probes: session.receiver((message) => this.#replied(message, true)),
    }
    session.onEnd(() => this.#notify())
  }

  static async create(options: ConsumerOptions): Promise<Consumer> {
    const { session, stream, filters, from, isHeadersOnly = false } = options
    const name = `listwatch-${uniqueName()}`
    const config = {
      name,
      ...(from === undefined
        ? { deliver_policy: 'last_per_subject' }
        : { deliver_policy: 'by_start_sequence', opt_start_seq: from }),
      ...(filters.length === 1 ? { filter_subject: filters[0] } : { filter_subjects: filters }),
      ack_policy: 'none',
      replay_policy: 'instant',
      headers_only: isHeadersOnly,
      mem_storage: true,
      num_replicas: 1,
      inactive_threshold: INACTIVE_MS * MS,
    }
    try {
      await session.request(`CONSUMER.CREATE.${stream}.${name}`, { stream_name: stream, action: 'create', config })
      return new Consumer(options, name)
    } catch (error) {
      session.farewell(`CONSUMER.DELETE.${stream}.${name}`) // It may exist: only the response was lost.
      throw error
    }
  }

  /** Waits for messages, a heartbeat, or the end of what there is. */
  async next(): Promise<Delivered> {
    if (!this.#hasNews) {
      if (this.#due <= 0) this.#pull()
      const news = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await this.#options.session.wait(news, 'the consumer is silent', this.#options.heartbeatMs)
    }
    this.#options.session.assertOpen()
    const messages = this.#messages
    this.#messages = []
    this.#hasNews = false
    const [isEnd, hasGap] = [this.#isEnd, this.#hasGap]
    this.#isEnd = false
    this.#hasGap = false
    return { messages, position: this.#position, isEnd, hasGap, isInBatch: this.#isInBatch }
  }

  /**
   * Reads until the last sequence of the stream, and further until a state that the stream had. The pulls of the last
   * part wait for messages: between two pulls that do not, messages are replaced. The replica that is read may lag
   * behind.
   */
  async *through(): AsyncGenerator<Delivered> {
    const { session, lastSeq, isExact } = this.#options
    const upTo = await lastSeq()
    const last = new HeldMessages()
    let cut: StateCut | undefined
    for (let left = MOST_PROBES; ; ) {
      const delivered = await this.next()
      if (delivered.position < upTo) yield delivered
      else {
        last.add(delivered.messages)
        this.#pullSize = Math.max(this.#pullSize, LAST_PULL_SIZE)
        this.#waitMs = LAST_PULL_MS
        const isFirst = cut === undefined
        cut ??= new StateCut(session.clock, lastSeq, isExact)
        if (await cut.isWhole({ ...delivered, hasGap: delivered.hasGap || isFirst })) {
          yield { ...delivered, messages: last.take() }
          return
        }
        yield { ...delivered, messages: [] } // The reader is alive.
      }
      if (delivered.messages.length > 0) left = MOST_PROBES
      else if (left-- === 0) throw unavailable('a replica of the stream lags behind')
      if (!delivered.isEnd || delivered.messages.length > 0) continue
      this.probe()
      await session.pause(PROBE_MS)
    }
  }

  /** Requests a heartbeat with the current position soon. */
  probe(): void {
    const { session, stream } = this.#options
    const body = { batch: 1, expires: PROBE_LIFE_MS * MS, idle_heartbeat: PROBE_MS * MS }
    this.#isProbing = true
    session.publish(`CONSUMER.MSG.NEXT.${stream}.${this.#name}`, body, this.#receivers.probes.subject)
  }

  close(): void {
    this.#unlink()
    this.#receivers.replies.remove()
    this.#receivers.probes.remove()
    this.#options.session.farewell(`CONSUMER.DELETE.${this.#options.stream}.${this.#name}`)
  }

  #pull(): void {
    const { session, stream } = this.#options
    const waitMs = this.#waitMs
    this.#due = this.#isAlone ? 1 : this.#pullSize
    const body = {
      batch: this.#due,
      ...(this.#isAlone ? {} : { max_bytes: MAX_BYTES }),
      ...(waitMs === 0 ? { no_wait: true } : { expires: 4 * waitMs * MS, idle_heartbeat: waitMs * MS }),
    }
    this.#isAlone = false
    session.publish(`CONSUMER.MSG.NEXT.${stream}.${this.#name}`, body, this.#receivers.replies.subject)
  }

  #stored(message: StoredMessage): void {
    this.#expect(message.delivery - 1)
    this.#delivery = message.delivery
    this.#due--
    if (message.seq !== this.#position + 1) this.#hasGap = true
    this.#position = Math.max(this.#position, message.seq)
    // With filters, the rest of a batch may not match.
    this.#isInBatch = message.isInBatch && this.#options.filters.some((filter) => filter.endsWith('.>'))
    this.#messages.push(message)
    this.#notify()
  }

  #replied({ headers }: NatsMessage, isProbe: boolean): void {
    const { code = 0, description = '' } = headers ?? {}
    if (code === HEARTBEAT) {
      this.#expect(Number(headers?.get('Nats-Last-Consumer')))
      this.#position = Math.max(this.#position, Number(headers?.get('Nats-Last-Stream')))
      if (isProbe) {
        if (!this.#isProbing) return // One of its later heartbeats.
        this.#isProbing = false
      }
    } else if (code === CONFLICT && /MaxBytes|Batch Completed/i.test(description)) {
      this.#isAlone = this.#due === this.#pullSize // Not even one message fitted.
      this.#due = 0
    } else if (code === CONFLICT || code === NO_RESPONDERS || code === BAD_REQUEST) {
      this.#options.session.end(unavailable(`the consumer has ended: ${description || 'it does not exist'}`))
    } else if (!isProbe) {
      // Nothing more (404), or the pull is over (408).
      this.#due = 0
      this.#isEnd = true
    } else {
      if (this.#isProbing && this.#options.session.isOpen) this.probe()
      return
    }
    this.#notify()
  }

  /** Ends the session if a delivery was lost. */
  #expect(delivery: number): void {
    if (delivery === this.#delivery) return
    this.#options.session.end(unavailable(`deliveries ${this.#delivery + 1} to ${delivery} of the consumer are lost`))
  }

  #notify(): void {
    this.#hasNews = true
    this.#wake()
  }
}

import { systemClock } from '../../../src/contract/clock.js'
import { OptionError, SourceError } from '../../../src/contract/errors.js'
import {
  type Eviction,
  LeaseLostError,
  type LeaseRecord,
  type LeaseSession,
  type LeaseView,
} from '../../../src/contract/leases.js'
import { LeaseConnection } from '../../shared/lease-connection.js'
import { keepListening } from '../../shared/lease-hints.js'
import type { LeaseSettings } from '../../shared/lease-options.js'
import { encodeBody, LeaseViews, leaseLost, type StoredRecord } from '../../shared/lease-records.js'
import { unavailable } from '../../shared/source-errors.js'
import { keyPrefixOf, type RedisClient, type RedisReply, repliesIn } from '../connection/client.js'
import { ClusterRoute } from '../connection/cluster-route.js'
import { redisError } from '../connection/redis-errors.js'
import { checkServer, Warnings } from '../connection/server-checks.js'
import { type Session, textOf } from '../connection/session.js'
import { hashOf, LEAVE_SCRIPT, RENEW_SCRIPT } from './lease-script.js'

interface SessionSettings extends LeaseSettings {
  readonly client: RedisClient
  readonly group: string
  readonly waitForReplicas?: number
}

/** The requests of one controller to Redis. */
export class RedisLeaseSession implements LeaseSession {
  readonly #settings: SessionSettings
  readonly #key: string
  readonly #route: ClusterRoute
  readonly #warnings: Warnings
  readonly #connection: LeaseConnection<Session>
  readonly #views: LeaseViews
  /** The member of the last request. Its own messages are ignored. */
  #member: string | undefined

  constructor(settings: SessionSettings) {
    this.#settings = settings
    this.#key = `${keyPrefixOf(settings.client)}{${settings.group}}:leases`
    this.#route = new ClusterRoute(settings.client, this.#key)
    this.#warnings = new Warnings(settings.name)
    this.#connection = new LeaseConnection((signal) => this.#connect(signal))
    this.#views = new LeaseViews(settings.name)
  }

  async renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView> {
    const { member, renewal } = record
    this.#member = member
    const evicted = evict.flatMap((each) => [each.member, String(each.renewal)])
    const sentAt = systemClock.now()
    const reply = await this.#request(signal, async (session) => {
      const args = [this.#key, member, String(renewal), encodeBody(record), ...evicted]
      const replies = repliesIn(await this.#run(session, RENEW_SCRIPT, args))
      this.#assertNotLost(record, replies)
      await this.#assertReplicated(session)
      return replies
    })
    const [fence, epoch, now, ...fields] = reply.map(textOf)
    const records = storedRecords(fields, Number(now))
    const view = { fence: Number(fence), epoch: String(epoch), records }
    return this.#views.view(view, { sentAt, arrivedAt: systemClock.now() })
  }

  async leave(member: string): Promise<void> {
    await this.#request(this.#connection.signal, (session) => this.#run(session, LEAVE_SCRIPT, [this.#key, member]))
  }

  watch(changed: (released?: string) => void, signal: AbortSignal): void {
    void keepListening(() => this.#listen(changed, signal), { changed, leaseMs: this.#settings.leaseMs, signal })
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  async #connect(signal: AbortSignal): Promise<Session> {
    const session = await this.#route.open({ signal, clock: systemClock, timeoutMs: this.#settings.requestMs })
    try {
      await checkServer(session, this.#warnings.through(undefined))
      return session
    } catch (error) {
      session.close()
      throw error
    }
  }

  async #request<V>(signal: AbortSignal, work: (session: Session) => Promise<V>): Promise<V> {
    try {
      return await this.#connection.run(signal, work)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof LeaseLostError || error instanceof OptionError) throw error
      this.#route.noteFailure(error)
      throw redisError(error)
    }
  }

  /** The reply of a script. If the server has not cached it, it is sent again with its text. */
  async #run(session: Session, script: string, args: readonly string[]): Promise<RedisReply> {
    try {
      return await session.command(['EVALSHA', hashOf(script), 1, this.#key, ...args])
    } catch (error) {
      if (!(error instanceof SourceError && error.message.startsWith('NOSCRIPT '))) throw error
      return await session.command(['EVAL', script, 1, this.#key, ...args])
    }
  }

  #assertNotLost(record: LeaseRecord, [first, found]: readonly RedisReply[]): void {
    if (textOf(first) !== 'lost') return
    const renewal = textOf(found)
    throw leaseLost(this.#settings.name, record, renewal === '' ? undefined : Number(renewal))
  }

  /** A record that a failover could lose must not count: another member would not see it. */
  async #assertReplicated(session: Session): Promise<void> {
    const { waitForReplicas, requestMs } = this.#settings
    if (waitForReplicas === undefined) return
    const reached = Number(textOf(await session.command(['WAIT', waitForReplicas, Math.ceil(requestMs / 2)])))
    if (reached >= waitForReplicas) return
    throw unavailable(`the record has reached ${reached} of ${waitForReplicas} replicas (option waitForReplicas)`)
  }

  /** Listens over a connection of its own, until it is lost. */
  async #listen(changed: (released?: string) => void, signal: AbortSignal): Promise<void> {
    const { requestMs, leaseMs } = this.#settings
    const session = await this.#route.open({ signal, clock: systemClock, timeoutMs: requestMs })
    try {
      session.onMessage((message) => {
        const [, dash, member] = /^(-?)(.*)$/s.exec(textOf(message)) ?? []
        if (member !== this.#member && !signal.aborted) changed(dash === '-' ? member : undefined)
      })
      await session.command(['subscribe', this.#key])
      for (;;) {
        await systemClock.sleep(leaseMs, signal)
        await session.command(['ping']) // The driver notices no peer that disappeared.
      }
    } catch (error) {
      this.#route.noteFailure(error)
      throw error
    } finally {
      session.close()
    }
  }
}

/** The records of a reply: members and texts in turn. `now`: the time of the server in microseconds. */
function storedRecords(fields: readonly string[], now: number): StoredRecord[] {
  const records: StoredRecord[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [member = '', text = ''] = fields.slice(at, at + 2)
    const [, renewal, writtenAt, body] = /^(\d+) (\d+) (.*)$/s.exec(text) ?? []
    records.push({ member, renewal: Number(renewal), body: body ?? '', ageMs: (now - Number(writtenAt)) / 1_000 })
  }
  return records
}

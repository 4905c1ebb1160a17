import { systemClock } from '../../../src/contract/clock.js'
import type { Eviction, LeaseRecord, LeaseSession, LeaseView } from '../../../src/contract/leases.js'
import { LeaseConnection } from '../../common/lease-connection.js'
import { keepListening } from '../../common/lease-hints.js'
import type { LeaseSettings } from '../../common/lease-options.js'
import {
  ChangeDetector,
  encodeBody,
  hasReleased,
  LeaseViews,
  leaseLost,
  RewindDetector,
  type StoredRecord,
} from '../../common/lease-records.js'
import { unavailable } from '../../common/source-errors.js'
import { type EtcdConnectionOptions, transportOf } from '../etcd-options.js'
import {
  type Comparison,
  type EtcdEvent,
  isAbsent,
  isGreater,
  isLess,
  type KeyValue,
  type TxnOperation,
} from '../transport/etcd-messages.js'
import { type KeyRange, prefixRange } from '../transport/key-range.js'
import { Session } from '../transport/session.js'
import type { Transport } from '../transport/transport.js'
import { WatchInbox } from '../watch/watch-inbox.js'

/** etcd refuses a transaction with more than 128 operations. Later requests evict the others. */
const MAX_EVICTIONS = 100
/** As many digits as a safe integer may have: texts of renewals are ordered as the numbers are. */
const RENEWAL_DIGITS = 16

interface SessionSettings extends LeaseSettings, EtcdConnectionOptions {
  readonly group: string
  readonly prefix?: string
}

export class EtcdLeaseSession implements LeaseSession {
  readonly #settings: SessionSettings
  readonly #transport: Transport
  readonly #prefix: string
  readonly #range: KeyRange
  readonly #connection: LeaseConnection<Session>
  readonly #views: LeaseViews
  readonly #rewinds = new RewindDetector()
  readonly #changes = new ChangeDetector()
  /** The last request that succeeded. */
  #confirmed: Pick<LeaseRecord, 'member' | 'renewal'> | undefined
  /** The member of the last request. Its own writes are ignored. */
  #member: string | undefined

  constructor(settings: SessionSettings) {
    this.#settings = settings
    const { prefix = 'listwatch/leases/', group, name } = settings
    this.#transport = transportOf(settings, 'etcdLeases')
    this.#prefix = `${prefix}${encodeURIComponent(group)}/`
    this.#range = prefixRange(this.#prefix)
    this.#connection = new LeaseConnection((signal) => this.#open(signal))
    this.#views = new LeaseViews(name)
  }

  async renew(record: LeaseRecord, evict: readonly Eviction[], signal: AbortSignal): Promise<LeaseView> {
    this.#member = record.member
    const own = this.#key(record.member)
    const value = Buffer.from(`${renewalText(record.renewal)} ${encodeBody(record)}`)
    const { start, end } = this.#range
    const evictions = evict.filter(({ member }) => member !== record.member).slice(0, MAX_EVICTIONS)
    const txn = {
      compare: this.#comparisons(record),
      success: [
        ...evictions.map((each) => this.#eviction(each)),
        { request_put: { key: own, value } },
        { request_range: { key: start, range_end: end } },
      ],
      failure: [{ request_range: { key: own } }],
    }
    return await this.#connection.run(signal, async (session) => {
      const sentAt = systemClock.now()
      const { header, hasSucceeded, operations } = await session.txn(txn)
      signal.throwIfAborted()
      const records = operations.flatMap(({ range }) => range.kvs).map((kv) => this.#stored(kv))
      this.#rewinds.observe(header.revision, header.term)
      if (!hasSucceeded) throw this.#lost(record, records[0]?.renewal)
      this.#confirmed = record
      for (const { member, body } of records) this.#changes.written(member, body)
      const epoch = this.#rewinds.epoch(header.clusterId)
      return this.#views.view({ fence: header.revision, epoch, records }, { sentAt, arrivedAt: systemClock.now() })
    })
  }

  async leave(member: string): Promise<void> {
    const success = [{ request_delete_range: { key: this.#key(member) } }]
    await this.#connection.run(this.#connection.signal, (session) => session.txn({ compare: [], success, failure: [] }))
  }

  watch(changed: (released?: string) => void, signal: AbortSignal): void {
    void keepListening(() => this.#listen(changed, signal), { changed, leaseMs: this.#settings.leaseMs, signal })
  }

  async close(): Promise<void> {
    this.#connection.close()
  }

  async #open(signal: AbortSignal): Promise<Session> {
    const timeoutMs = this.#settings.requestMs / this.#transport.endpoints
    const options = { signal, clock: systemClock, timeoutMs }
    const [session] = await Session.open(this.#transport, options, (opened) => opened.head(this.#range, timeoutMs))
    return session
  }

  /** The record has an earlier renewal, or does not exist if this is the first one. */
  #comparisons({ member, renewal }: LeaseRecord): readonly Comparison[] {
    const key = this.#key(member)
    if (renewal === 0) return [isAbsent(key)]
    const confirmed = this.#confirmed?.member === member ? this.#confirmed.renewal : 0
    // A record before the last confirmed one is of a restored backup.
    return [isLess(key, renewalText(renewal)), isGreater(key, renewalText(confirmed))]
  }

  /** Deletes a record whose value begins with this renewal and a space. */
  #eviction({ member, renewal }: Eviction): TxnOperation {
    const [key, text] = [this.#key(member), renewalText(renewal)]
    const compare = [isGreater(key, text), isLess(key, `${text}!`)]
    return { request_txn: { compare, success: [{ request_delete_range: { key } }], failure: [] } }
  }

  #lost(record: LeaseRecord, found: number | undefined): Error {
    const { member, renewal } = this.#confirmed ?? {}
    if (member === record.member && found !== undefined && found < (renewal ?? 0)) this.#rewinds.lostWrite()
    return leaseLost(this.#settings.name, record, found)
  }

  #key(member: string): Buffer {
    return Buffer.from(this.#prefix + member)
  }

  #memberOf(key: Buffer): string {
    return key.toString().slice(this.#prefix.length)
  }

  #stored({ key, value }: KeyValue): StoredRecord {
    const text = value.toString()
    const renewal = Number(text.slice(0, RENEWAL_DIGITS))
    return { member: this.#memberOf(key), renewal, body: text.slice(RENEWAL_DIGITS + 1) }
  }

  /** Watches over a connection of its own, until it is lost. */
  async #listen(changed: (released?: string) => void, signal: AbortSignal): Promise<void> {
    const session = await this.#open(signal)
    try {
      const { start: key, end: range_end } = this.#range
      const stream = await session.watch({ key, range_end, start_revision: 0, fragment: false }, true)
      const inbox = new WatchInbox(stream, systemClock, signal)
      try {
        await this.#read(inbox, changed)
      } catch (error) {
        if (!signal.aborted) session.isLost = true
        throw error
      } finally {
        inbox.close(session.isLost)
      }
    } finally {
      session.close()
    }
  }

  async #read(inbox: WatchInbox, changed: (released?: string) => void): Promise<never> {
    let isSilent = false
    for (;;) {
      const message = await inbox.next(this.#settings.leaseMs)
      if (message === 'silence') {
        if (isSilent) throw unavailable('the watch is silent')
        inbox.requestProgress()
        isSilent = true
      } else if (message !== 'progress-request') {
        if (message.isCanceled) throw unavailable(`the watch was cancelled: ${message.cancelReason}`)
        isSilent = false
        for (const event of message.events) this.#observe(event, changed)
      }
    }
  }

  /** Calls `changed` if another member changed its record in more than its renewal. */
  #observe({ isDelete, kv }: EtcdEvent, changed: (released?: string) => void): void {
    const member = this.#memberOf(kv.key)
    const { body } = this.#stored(kv)
    if (isDelete) this.#changes.removed(member)
    const isChanged = isDelete || this.#changes.written(member, body)
    if (isChanged && member !== this.#member) changed(isDelete || hasReleased(body) ? member : undefined)
  }
}

function renewalText(renewal: number): string {
  return String(renewal).padStart(RENEWAL_DIGITS, '0')
}

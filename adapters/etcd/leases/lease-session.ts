import { systemClock } from '../../../src/contract/clock.js'
import type { Eviction, LeaseRecord, LeaseSession } from '../../../src/contract/leases.js'
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
import { prefixRange } from '../transport/key-range.js'
import { Session } from '../transport/session.js'
import { WatchInbox } from '../watch/watch-inbox.js'

/** etcd refuses a transaction with more than 128 operations. Later requests evict the others. */
const MAX_EVICTIONS = 100
/** As many digits as a safe integer may have: texts of renewals are ordered as the numbers are. */
const RENEWAL_DIGITS = 16

interface SessionSettings extends LeaseSettings, EtcdConnectionOptions {
  readonly group: string
  readonly prefix?: string
}

type Changed = (released?: string) => void

export function etcdLeaseSession(settings: SessionSettings): LeaseSession {
  const { prefix: given = 'listwatch/leases/', group, name, leaseMs, requestMs } = settings
  const transport = transportOf(settings, 'etcdLeases')
  const prefix = `${given}${encodeURIComponent(group)}/`
  const range = prefixRange(prefix)
  const views = new LeaseViews(name)
  const rewinds = new RewindDetector()
  const changes = new ChangeDetector()
  let confirmed: Pick<LeaseRecord, 'member' | 'renewal'> | undefined
  /** The member of the last request. Its own writes are ignored. */
  let own: string | undefined

  const keyOf = (member: string): Buffer => Buffer.from(prefix + member)
  const stored = ({ key, value }: KeyValue): StoredRecord => {
    const text = value.toString()
    const renewal = Number(text.slice(0, RENEWAL_DIGITS))
    return { member: key.toString().slice(prefix.length), renewal, body: text.slice(RENEWAL_DIGITS + 1) }
  }

  const open = async (signal: AbortSignal): Promise<Session> => {
    const timeoutMs = requestMs / transport.endpoints
    const options = { signal, clock: systemClock, timeoutMs }
    const [session] = await Session.open(transport, options, (opened) => opened.head(range, timeoutMs))
    return session
  }
  const connection = new LeaseConnection(open)
  /** The record has an earlier renewal, or does not exist if this is the first one. */
  const comparisonsOf = ({ member, renewal }: LeaseRecord): readonly Comparison[] => {
    const key = keyOf(member)
    if (renewal === 0) return [isAbsent(key)]
    const last = confirmed?.member === member ? confirmed.renewal : 0
    // A record before the last confirmed one is of a restored backup.
    return [isLess(key, renewalText(renewal)), isGreater(key, renewalText(last))]
  }

  /** Deletes a record whose value begins with this renewal and a space. */
  const evictionOf = ({ member, renewal }: Eviction): TxnOperation => {
    const [key, text] = [keyOf(member), renewalText(renewal)]
    const compare = [isGreater(key, text), isLess(key, `${text}!`)]
    return { request_txn: { compare, success: [{ request_delete_range: { key } }], failure: [] } }
  }

  /** Calls `changed` if another member changed its record in more than its renewal. */
  const observe = ({ isDelete, kv }: EtcdEvent, changed: Changed): void => {
    const { member, body } = stored(kv)
    if (isDelete) changes.removed(member)
    const isChanged = isDelete || changes.written(member, body)
    if (isChanged && member !== own) changed(isDelete || hasReleased(body) ? member : undefined)
  }

  const read = async (inbox: WatchInbox, changed: Changed): Promise<never> => {
    let isSilent = false
    for (;;) {
      const message = await inbox.next(leaseMs)
      if (message === 'silence') {
        if (isSilent) throw unavailable('the watch is silent')
        inbox.requestProgress()
        isSilent = true
      } else if (message !== 'progress-request') {
        if (message.isCanceled) throw unavailable(`the watch was cancelled: ${message.cancelReason}`)
        isSilent = false
        for (const event of message.events) observe(event, changed)
      }
    }
  }

  /** Watches over a connection of its own, until it is lost. */
  const listen = async (changed: Changed, signal: AbortSignal): Promise<void> => {
    const session = await open(signal)
    try {
      const { start: key, end: range_end } = range
      const stream = await session.watch({ key, range_end, start_revision: 0, fragment: false }, true)
      const inbox = new WatchInbox(stream, systemClock, signal)
      try {
        await read(inbox, changed)
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

  return {
    renew: async (record, evict, signal) => {
      const { member } = record
      own = member
      const [key, value] = [keyOf(member), Buffer.from(`${renewalText(record.renewal)} ${encodeBody(record)}`)]
      const evictions = evict.filter((each) => each.member !== member).slice(0, MAX_EVICTIONS)
      const txn = {
        compare: comparisonsOf(record),
        success: [
          ...evictions.map(evictionOf),
          { request_put: { key, value } },
          { request_range: { key: range.start, range_end: range.end } },
        ],
        failure: [{ request_range: { key } }],
      }
      return await connection.run(signal, async (session) => {
        const sentAt = systemClock.now()
        const { header, hasSucceeded, operations } = await session.txn(txn)
        signal.throwIfAborted()
        const records = operations.flatMap(({ range: { kvs } }) => kvs).map(stored)
        rewinds.observe(header.revision, header.term)
        if (!hasSucceeded) {
          const found = records[0]?.renewal
          if (confirmed?.member === member && found !== undefined && found < confirmed.renewal) rewinds.lostWrite()
          throw leaseLost(name, record, found)
        }
        confirmed = record
        for (const each of records) changes.written(each.member, each.body)
        const epoch = rewinds.epoch(header.clusterId)
        return views.view({ fence: header.revision, epoch, records }, { sentAt, arrivedAt: systemClock.now() })
      })
    },
    leave: async (member) => {
      const success = [{ request_delete_range: { key: keyOf(member) } }]
      await connection.run(connection.signal, (session) => session.txn({ compare: [], success, failure: [] }))
    },
    watch: (changed, signal) => void keepListening(() => listen(changed, signal), { changed, leaseMs, signal }),
    close: async () => connection.close(),
  }
}

function renewalText(renewal: number): string {
  return String(renewal).padStart(RENEWAL_DIGITS, '0')
}

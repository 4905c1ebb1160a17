import { systemClock, wallNowOf } from '../../../src/contract/clock.js'
import { SourceError } from '../../../src/contract/errors.js'
import type { Eviction, LeaseRecord, LeaseSession } from '../../../src/contract/leases.js'
import { LeaseConnection } from '../../common/lease-connection.js'
import { keepListening } from '../../common/lease-hints.js'
import type { LeaseSettings } from '../../common/lease-options.js'
import { encodeBody, hasReleased, LeaseViews, leaseLost, type StoredRecord } from '../../common/lease-records.js'
import { propertiesOf } from '../../common/properties.js'
import { refused } from '../../common/source-errors.js'
import { writeIfLast } from '../atomic-write.js'
import { createBucket, readMessage } from '../connection/bucket-stream.js'
import type { NatsClient } from '../connection/nats-client.js'
import { type Session, sessionOf, uniqueName } from '../connection/session.js'
import { encodeRelayKey } from '../relay-keys.js'

interface SessionSettings extends LeaseSettings {
  readonly client: NatsClient
  readonly group: string
  readonly bucket: string
  readonly replicas: number
  readonly domain?: string
}

/** The state of a group as it was read, with its sequence in the stream: 0 if there is none. */
interface Found {
  readonly seq: number
  readonly state: GroupState | undefined
}

interface Written {
  readonly state: GroupState
  readonly before: GroupState | undefined
  readonly sentAt: number
}

/**
 * The requests of one controller to JetStream. All records of a group are one message. A renewal reads it, and replaces
 * it only if it is still the last message of its subject. So a renewal is one atomic step: an old state, such as a
 * leader without followers has, is read but never replaced.
 */
export function natsLeaseSession(settings: SessionSettings): LeaseSession {
  const { client, domain, bucket, group, replicas, name, leaseMs, requestMs } = settings
  const token = encodeRelayKey(group)
  const subject = `$KV.${bucket}.${token}`
  const hints = `listwatch.leases.${bucket}.${token}`
  const views = new LeaseViews(name)
  let lastSeq = 0
  let confirmed: Pick<LeaseRecord, 'member' | 'renewal'> | undefined
  /** The member of the last request. Its own hints are ignored. */
  let own: string | undefined

  const open = (signal: AbortSignal): Session => {
    const options = { client, timeoutMs: requestMs, ...(domain === undefined ? {} : { domain }) }
    return sessionOf(options, { signal, clock: systemClock })
  }
  const connection = new LeaseConnection(async (signal) => open(signal))
  const read = async (session: Session): Promise<Found> => {
    const found = await readMessage(session, bucket, { last_by_subj: subject }).catch(async (error: unknown) => {
      if (!(error instanceof SourceError && error.code === 'NOT_FOUND')) throw error
      await createBucket(session, bucket, replicas)
      return undefined
    })
    if (found === undefined) return { seq: 0, state: undefined }
    const place = `the key "${token}" of the bucket "${bucket}"`
    return { seq: found.seq, state: found.isDelete ? undefined : decodeGroup(found.text, place) }
  }

  /** Whether a state has an earlier record than this session wrote: an older state was put back, and written further. */
  const isBehind = (state: GroupState | undefined): boolean => {
    const record = state?.records.find(({ member }) => member === confirmed?.member)
    return record !== undefined && record.renewal < (confirmed?.renewal ?? 0)
  }

  /** Whether a record may replace the one with the renewal that was found. */
  const mayFollow = ({ member, renewal }: LeaseRecord, found: number | undefined): boolean => {
    if (renewal === 0 || found === undefined) return renewal === 0 && found === undefined
    return found < renewal && found >= (confirmed?.member === member ? confirmed.renewal : 0)
  }

  const encode = (state: GroupState): string => {
    const payload = encodeGroup(state)
    const most = propertiesOf(propertiesOf(client)['info'])['max_payload']
    const bytes = Buffer.byteLength(payload)
    if (typeof most !== 'number' || bytes <= most) return payload
    throw refused(`${name}: its records have ${bytes} bytes, and the server allows a message of ${most} (max_payload)`)
  }

  /**
   * Replaces the records of the group, and tries again if another member was faster. `next` gets the current records,
   * and whether they seem to be older than a state that this session wrote. The write fails if that is only because the
   * state was read from a leader that has been replaced.
   */
  const replace = async (
    session: Session,
    signal: AbortSignal,
    next: (records: GroupState['records'], isOlder: boolean) => GroupState['records'],
  ): Promise<Written> => {
    for (;;) {
      signal.throwIfAborted()
      const sentAt = systemClock.now()
      const { seq, state: before } = await read(session)
      const isOlder = seq < lastSeq || isBehind(before)
      const records = next(before?.records ?? [], isOlder)
      const epoch = before === undefined || isOlder ? uniqueName() : before.epoch
      const state = { epoch, fence: fenceAfter(before?.fence ?? 0, wallNowOf(systemClock)), records }
      const payload = encode(state)
      signal.throwIfAborted()
      const written = await writeIfLast(session, { subject, payload, headers: {} }, seq)
      if (written === undefined) continue
      lastSeq = written
      return { state, before, sentAt }
    }
  }

  /** A hint to the other members. It may get lost. */
  const publish = (hint: string): void => {
    if (!client.isClosed() && !client.isDraining()) client.publish(hints, hint)
  }

  const listen = async (changed: (released?: string) => void, signal: AbortSignal): Promise<void> => {
    const session = open(signal)
    const { promise: ended, reject } = Promise.withResolvers<never>()
    session.onEnd(reject)
    const subscription = client.subscribe(hints, {
      callback: (error, message) => {
        // With an error there is no message. An exception in this callback would end the reader of the connection.
        if (error !== null) return reject(error)
        const [, dash, member] = /^(-?)(.*)$/s.exec(Buffer.from(message.data).toString()) ?? []
        if (member !== own && !signal.aborted) changed(dash === '-' ? member : undefined)
      },
    })
    try {
      await ended
    } finally {
      if (!client.isClosed()) subscription.unsubscribe()
      session.close()
    }
  }

  return {
    renew: async (record, evict, signal) => {
      const { member, renewal } = record
      own = member
      return await connection.run(signal, async (session) => {
        let found: number | undefined
        let isLost = false
        // A write may be stored although it was refused: a leader and the one before it can both receive it.
        let hasTried = false
        const { state, before, sentAt } = await replace(session, signal, (records, isOlder) => {
          found = records.find((each) => each.member === member)?.renewal
          isLost = !(hasTried && found === renewal) && !mayFollow(record, found)
          hasTried ||= !isLost
          if (!isLost) return renewed(records, record, evict)
          if (isOlder) return records // Written again, so that it proves to be the current state, in a new epoch.
          throw leaseLost(name, record, found)
        })
        if (isLost) throw leaseLost(name, record, found)
        confirmed = { member, renewal }
        const bodyIn = (of: GroupState | undefined): string | undefined =>
          of?.records.find((each) => each.member === member)?.body
        const written = bodyIn(state) ?? ''
        const isChanged = bodyIn(before) !== written || evict.length > 0
        if (isChanged) publish(hasReleased(written) ? `-${member}` : member)
        signal.throwIfAborted()
        return views.view(state, { sentAt, arrivedAt: systemClock.now() })
      })
    },
    leave: async (member) => {
      const signal = AbortSignal.timeout(Math.ceil(requestMs))
      await connection.run(signal, async (session) => {
        await replace(session, signal, (records) => records.filter((each) => each.member !== member))
        publish(`-${member}`)
      })
    },
    watch: (changed, signal) => void keepListening(() => listen(changed, signal), { changed, leaseMs, signal }),
    close: async () => connection.close(),
  }
}

/** All that a bucket has of one group. It is one message, so that a member reads and writes it as a whole. */
interface GroupState {
  /** A random name. It is replaced when a member finds an older state than it has seen. */
  readonly epoch: string
  readonly fence: number
  readonly records: readonly StoredRecord[]
}

/** A clock that is set to a later year must not use up the safe integers. In microseconds: the year 2112. */
const GREATEST_CLOCK = 2 ** 52

/** A line with the epoch and the fence, and one for each record: the member, the renewal and the body (JSON). */
function encodeGroup({ epoch, fence, records }: GroupState): string {
  const lines = records.map(({ member, renewal, body }) => `${member} ${renewal} ${body}`)
  return [`${epoch} ${fence}`, ...lines].join('\n')
}

/** Reads what `encodeGroup` wrote. Throws `PROTOCOL` if it is not readable: what the members claim is unknown. */
function decodeGroup(text: string, place: string): GroupState {
  const [head = '', ...lines] = text.split('\n')
  const [, epoch, fence] = /^([\w-]+) (\d+)$/.exec(head) ?? []
  const records = lines.flatMap((line) => {
    const [, member, renewal, body] = /^([\w-]+) (\d+) (.+)$/s.exec(line) ?? []
    return member === undefined || body === undefined ? [] : [{ member, renewal: Number(renewal), body }]
  })
  if (epoch === undefined || !Number.isSafeInteger(Number(fence)) || records.length < lines.length)
    throw refused(`the leases in ${place} are not readable: remove the key by hand`)
  return { epoch, fence: Number(fence), records }
}

/** About the time in microseconds: fences also grow if a bucket is removed or an older state is put back. */
function fenceAfter(fence: number, nowMs: number): number {
  return Math.max(fence + 1, Math.min(Math.floor(nowMs * 1_000), GREATEST_CLOCK))
}

function renewed(
  records: readonly StoredRecord[],
  record: LeaseRecord,
  evict: readonly Eviction[],
): readonly StoredRecord[] {
  const { member, renewal } = record
  const isEvicted = (other: StoredRecord): boolean =>
    evict.some((each) => each.member === other.member && each.renewal === other.renewal)
  const others = records.filter((other) => other.member !== member && !isEvicted(other))
  return [...others, { member, renewal, body: encodeBody(record) }]
}

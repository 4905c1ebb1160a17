import { SourceError } from '../../../src/contract/errors.js'
import type { Eviction, LeaseRecord } from '../../../src/contract/leases.js'
import { encodeBody, type StoredRecord } from '../../shared/lease-records.js'

/** All that a bucket has of one group. It is one message, so that a member reads and writes it as a whole. */
export interface GroupState {
  /** A random name. It is replaced when a member finds an older state than it has seen. */
  readonly epoch: string
  /** The fence of the last write. */
  readonly fence: number
  readonly records: readonly StoredRecord[]
}

/** A clock that is set to a later year must not use up the safe integers. In microseconds: the year 2112. */
const GREATEST_CLOCK = 2 ** 52

/**
 * A line with the epoch and the fence, and then a line for each record: the member, the renewal and the body, which is
 * JSON.
 */
export function encodeGroup({ epoch, fence, records }: GroupState): string {
  const lines = records.map(({ member, renewal, body }) => `${member} ${renewal} ${body}`)
  return [`${epoch} ${fence}`, ...lines].join('\n')
}

/** Reads what `encodeGroup` wrote. Throws `PROTOCOL` if it is not readable: what the members claim is unknown. */
export function decodeGroup(text: string, place: string): GroupState {
  const [head = '', ...lines] = text.split('\n')
  const [, epoch, fence] = /^([\w-]+) (\d+)$/.exec(head) ?? []
  const records = lines.flatMap((line) => {
    const [, member, renewal, body] = /^([\w-]+) (\d+) (.+)$/s.exec(line) ?? []
    return member === undefined || body === undefined ? [] : [{ member, renewal: Number(renewal), body }]
  })
  if (epoch === undefined || !Number.isSafeInteger(Number(fence)) || records.length < lines.length)
    throw new SourceError(`the leases in ${place} are not readable: remove the key by hand`, { code: 'PROTOCOL' })
  return { epoch, fence: Number(fence), records }
}

/**
 * The next fence. It is about the time in microseconds, so that fences also grow when a bucket is removed or an older
 * state is put back.
 */
export function fenceAfter(fence: number, nowMs: number): number {
  return Math.max(fence + 1, Math.min(Math.floor(nowMs * 1_000), GREATEST_CLOCK))
}

/** The records after a renewal. */
export function renewed(
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

import { messageOf, type SourceError } from '../../src/contract/errors.js'
import { LeaseLostError, type LeaseRecord, type LeaseView } from '../../src/contract/leases.js'
import { propertiesOf } from './properties.js'
import { refused } from './source-errors.js'

/** A record as a store has it. `body` has the fields that rarely change, as JSON. */
export interface StoredRecord {
  readonly member: string
  readonly renewal: number
  readonly body: string
  /** The age of the record by the clock of the store; undefined if the store does not know it. */
  readonly ageMs?: number
}

/** The part of a record that differs only if the member publishes something new. */
export function encodeBody({ members, holds, mode, leaseMs }: LeaseRecord): string {
  return JSON.stringify({ members, holds, mode, leaseMs })
}

export function hasReleased(body: string): boolean {
  return body.startsWith('{"members":[],')
}

/** Reads a stored record. Throws `PROTOCOL` if it is not readable: what its member claims is unknown. */
export function decodeRecord({ member, renewal, body }: StoredRecord, leases: string): LeaseRecord {
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (error) {
    throw unreadable(member, leases, messageOf(error))
  }
  const { members, holds, mode, leaseMs } = propertiesOf(parsed)
  if (!isTexts(members) || !isTexts(holds) || !Number.isSafeInteger(renewal))
    throw unreadable(member, leases, 'it has other fields')
  return {
    member,
    renewal,
    members,
    holds,
    ...((mode === 'share' || mode === 'leader') && { mode }),
    ...(typeof leaseMs === 'number' && { leaseMs }),
  }
}

/** A field that is missing is not an empty one: a record of another version may claim keys in another field. */
function isTexts(values: unknown): values is readonly string[] {
  return Array.isArray(values) && values.every((each) => typeof each === 'string')
}

function unreadable(member: string, leases: string, why: string): SourceError {
  const remedy =
    'stop the replica that wrote it, which may have another version of listwatch; if there is none, remove the record'
  return refused(`the record of member ${member} of ${leases} is not readable: ${why}; ${remedy}`)
}

/** The error for a member whose record is not the one before `renewal`. `found` is the renewal in the store. */
export function leaseLost(leases: string, { member, renewal }: LeaseRecord, found: number | undefined): LeaseLostError {
  const why =
    found === undefined ? 'its record is gone' : `its record has renewal ${found}, and ${renewal} was to be written`
  return new LeaseLostError(`member ${member} of ${leases} has lost its lease: ${why}`)
}

export interface Reading {
  readonly sentAt: number
  readonly arrivedAt: number
}

interface Sighting {
  readonly renewal: number
  /** When the first view with this renewal arrived. The record had been written before. */
  readonly seenAt: number
  /** When the last view without this renewal was requested. The record was written later. Undefined: there was none. */
  readonly unseenAt: number | undefined
}

/**
 * Finds the ages of records. The clock of a server may be set while it runs, and then an age by it is wrong: a member
 * that is alive would count as expired. So an age is limited by what this process has observed itself.
 */
export class LeaseViews {
  readonly #leases: string
  #sightings = new Map<string, Sighting>()
  #lastSentAt: number | undefined

  constructor(leases: string) {
    this.#leases = leases
  }

  view(
    {
      fence,
      epoch,
      records,
    }: { readonly fence: number; readonly epoch: string; readonly records: readonly StoredRecord[] },
    reading: Reading,
  ): LeaseView {
    if (!Number.isSafeInteger(fence)) throw refused(`${this.#leases}: the fence ${fence} is not a safe integer`)
    const sightings = new Map<string, Sighting>()
    const aged = records.map((stored) => {
      const { member, renewal } = stored
      const known = this.#sightings.get(member)
      const sighting =
        known?.renewal === renewal ? known : { renewal, seenAt: reading.arrivedAt, unseenAt: this.#lastSentAt }
      sightings.set(member, sighting)
      return { ...decodeRecord(stored, this.#leases), ageMs: ageOf(stored.ageMs, sighting, reading) }
    })
    this.#sightings = sightings
    this.#lastSentAt = reading.sentAt
    return { fence, epoch, records: aged }
  }
}

function ageOf(stored: number | undefined, { seenAt, unseenAt }: Sighting, { sentAt, arrivedAt }: Reading): number {
  const least = Math.max(0, sentAt - seenAt)
  if (stored === undefined) return least
  const most = unseenAt === undefined ? Infinity : arrivedAt - unseenAt
  return Math.min(Math.max(stored, least), most)
}

/** Tells whether a record differs from the last one of its member in more than its renewal. */
export class ChangeDetector {
  readonly #bodies = new Map<string, string>()

  written(member: string, body: string): boolean {
    const last = this.#bodies.get(member)
    this.#bodies.set(member, body)
    return last !== body
  }

  removed(member: string): void {
    this.#bodies.delete(member)
  }
}

/** Detects that a store was restored, from positions that never decrease otherwise. Several are compared one by one. */
export class RewindDetector {
  #last: readonly number[] = []
  #rewinds = 0

  observe(...positions: readonly number[]): void {
    if (positions.some((position, at) => position < (this.#last[at] ?? 0))) this.#rewinds++
    this.#last = positions
  }

  lostWrite(): void {
    this.#rewinds++
  }

  /** The epoch of the store. It changes with each rewind. */
  epoch(id: string): string {
    return this.#rewinds === 0 ? id : `${id}.${this.#rewinds}`
  }
}

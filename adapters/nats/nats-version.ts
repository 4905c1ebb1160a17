import type { Version } from '../../src/contract/version.js'
import { integer, notAVersion, otherHistory, textField, versionFormat } from '../common/version-format.js'

export interface NatsVersion {
  /** When the stream was created, in nanoseconds: it identifies the stream. */
  readonly created: string
  /** Everything up to this sequence has been read. */
  readonly seq: number
  /** The sequence of the newest message that was read; 0 if there is none. Nothing between it and `seq` matches. */
  readonly newest: number
  /** When that message was stored, in nanoseconds; 0 if that is not known. */
  readonly time: string
}

const OF = 'a NATS bucket'
const nanoseconds = textField(/^\d{1,20}$/)
const versions = versionFormat<NatsVersion>('nats1', OF, {
  created: nanoseconds,
  seq: integer,
  newest: integer,
  time: nanoseconds,
})

/** `nats1.<created>.<sequence>.<newest>.<time>` */
export const formatVersion: (version: NatsVersion) => Version = versions.format
export const parseVersion: (version: Version) => NatsVersion = versions.parse

/** `mark`: a version, or the revision of a write. Throws `EPOCH_CHANGED` for another stream. */
export function includesMark(at: Version, mark: Version): boolean {
  const here = parseVersion(at)
  if (integer.allows(mark)) return here.seq >= Number(mark)
  if (!mark.startsWith('nats1.')) throw notAVersion(mark, OF)
  const there = parseVersion(mark)
  if (here.created !== there.created) throw otherHistory('the stream of the bucket was created again')
  return here.seq >= there.seq
}

/** The nanoseconds since 1970 of a time such as `2026-11-24T03:05:28.43808524Z`. */
export function nanosecondsOf(time: string): string {
  const [seconds = '', fraction = ''] = time.replace(/Z$/, '').split('.')
  const ms = Date.parse(`${seconds}Z`)
  return String(BigInt(Number.isFinite(ms) ? ms : 0) * 1_000_000n + BigInt(fraction.padEnd(9, '0').slice(0, 9)))
}

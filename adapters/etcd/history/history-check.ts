import { SourceError } from '../../../src/contract/errors.js'
import { expired, forked } from '../../common/source-errors.js'
import { isCompacted, isTooLarge } from '../transport/etcd-errors.js'
import { type Header, NEWEST_FIRST, type RangeResponse, type ServerStatus } from '../transport/etcd-messages.js'
import type { KeyRange } from '../transport/key-range.js'
import type { Session } from '../transport/session.js'
import type { EtcdVersion, Fingerprint } from './etcd-version.js'
import { digestOf, HistoryFingerprint, REMEMBERED } from './fingerprint.js'

/** Limit of a read of the newest entries: another history may have any number of them. */
const MOST_AT_ONCE = 1_000

/**
 * Throws `EPOCH_CHANGED` if the server cannot have issued this version. `head` comes from a quorum read: etcd itself
 * accepts a watch from a revision that it has not reached, and is silent.
 */
export function assertReachable(head: Header, version: EtcdVersion): void {
  if (head.clusterId !== version.clusterId) throw forked('the cluster is another')
  if (head.term < version.term) throw forked(`the term went back from ${version.term} to ${head.term}`)
  if (head.revision < version.revision)
    throw forked(`the revision went back from ${version.revision} to ${head.revision}`)
}

/** Throws `EPOCH_CHANGED` for another history. If the version has been compacted, only the header is compared. */
export async function assertSameHistory(
  session: Session,
  range: KeyRange,
  version: EtcdVersion,
  head: Header,
): Promise<void> {
  assertReachable(head, version)
  try {
    await verifyHistory(session, range, version)
  } catch (error) {
    if (!(error instanceof SourceError) || error.code !== 'VERSION_EXPIRED') throw error
  }
}

/**
 * Reads the range at the revision of the version. Its newest entry and its number of keys must be those of the version.
 * A restored backup has the same cluster id and the same revisions: only its contents differ.
 */
export async function verifyHistory(
  session: Session,
  range: KeyRange,
  version: EtcdVersion,
): Promise<HistoryFingerprint> {
  const { revision, count } = version
  const seen = await readNewest(session, range, version, revision)
  if (seen.count !== count) throw forked(`it had ${seen.count} keys at revision ${revision}, not ${count}`)
  return assertNewest(seen, version)
}

export function assertNewest(
  { kvs, hasValues }: NewestEntries,
  { count, newest, digest }: Fingerprint,
): HistoryFingerprint {
  // The range was empty, or its newest entry was unknown. An unknown entry is read when a version needs it.
  if (newest === 0) return new HistoryFingerprint(count)
  const found = kvs.filter(({ modRevision }) => modRevision === newest)
  if (found.length === 0 || found.length !== kvs.length)
    throw forked(`its newest entry is of revision ${kvs[0]?.modRevision ?? 0}, not of ${newest}`)
  if (!hasValues) return new HistoryFingerprint(count)
  if (!found.some((kv) => digestOf(kv) === digest)) throw forked(`its entry of revision ${newest} is another`)
  return HistoryFingerprint.of(count, found)
}

/**
 * A reason to audit the range although the history check passed. A restored backup begins with a new raft term and a
 * low raft index. An election or another member may look the same.
 */
export function suspicion(version: EtcdVersion, head: Header, status: ServerStatus | undefined): string | undefined {
  if (head.term !== version.term) return `the term was ${version.term}, and is ${head.term}`
  if (status === undefined || status.raftIndex >= version.raftIndex) return undefined
  return `the raft index was ${version.raftIndex}, and is ${status.raftIndex}`
}

export interface NewestEntries extends RangeResponse {
  /** False if the values are too large for a response. */
  readonly hasValues: boolean
}

/** The entries of a range at a revision (0: now) that are as new as the newest entry of the fingerprint, or newer. */
export async function readNewest(
  session: Session,
  { start, end }: KeyRange,
  { newest }: Fingerprint,
  revision: number,
  { timeoutMs, hasValues = true }: { readonly timeoutMs?: number; readonly hasValues?: boolean } = {},
): Promise<NewestEntries> {
  const request = { key: start, range_end: end, revision, ...NEWEST_FIRST, min_mod_revision: newest }
  const keysOnly = { ...request, limit: newest === 0 ? 1 : MOST_AT_ONCE, keys_only: true }
  try {
    if (newest === 0 || !hasValues) return { ...(await session.range(keysOnly, timeoutMs)), hasValues: false }
    // One entry first: after a disconnect, newer entries may have megabytes, which would delay the watch.
    const seen = await session.range({ ...request, limit: 1 }, timeoutMs)
    // One transaction wrote several entries: all of them are read.
    const isOneTransaction = seen.hasMore && seen.kvs.every(({ modRevision }) => modRevision === newest)
    return { ...(isOneTransaction ? await session.range(request, timeoutMs) : seen), hasValues: true }
  } catch (error) {
    if (isTooLarge(error)) return { ...(await session.range(keysOnly, timeoutMs)), hasValues: false }
    if (!isCompacted(error)) throw error
    throw expired(`revision ${revision} has been compacted`)
  }
}

/** Reads the newest entries at a revision. A compacted revision is ignored, because no watch can resume from it. */
export async function refillFingerprint(
  newest: HistoryFingerprint,
  session: Session,
  { start, end }: KeyRange,
  revision: number,
): Promise<void> {
  for (const limit of [REMEMBERED, 1]) {
    try {
      const { kvs } = await session.range({ key: start, range_end: end, revision, ...NEWEST_FIRST, limit })
      newest.learn(kvs)
      return
    } catch (error) {
      if (isCompacted(error)) return
      if (!isTooLarge(error) || limit === 1) throw error
    }
  }
}

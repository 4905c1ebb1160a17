import type { SourceError } from '../../src/errors.js'
import { expired, forked, isCompacted, isTooLarge } from './etcd-errors.js'
import type { EtcdVersion } from './etcd-version.js'
import type { KeyRange } from './key-range.js'
import type { Header, RangeResponse, ServerStatus } from './messages.js'
import { digestOf, Newest, REMEMBERED } from './newest.js'
import type { Visit } from './visit.js'

/** The entries of one transaction share a revision; of a history of another kind there may be more. */
const MOST_AT_ONCE = 1_000

/**
 * Whether the server can be the one of this version at all. `head` is what a majority stands for: etcd itself accepts a
 * watch from a revision that it has not reached, and is silent.
 */
export function assertReachable(head: Header, version: EtcdVersion): void {
  if (head.clusterId !== version.clusterId) throw forked('the cluster is another')
  if (head.term < version.term) throw forked(`the term went back from ${version.term} to ${head.term}`)
  if (head.revision < version.revision)
    throw forked(`the revision went back from ${version.revision} to ${head.revision}`)
}

/** Why all has to be read again: the history after the version is gone, or it is another history where there is a doubt. */
export function gone(detail: string, doubt: string | undefined): SourceError {
  return doubt === undefined ? expired(detail) : forked(`${detail}, and ${doubt}`)
}

/**
 * Reads the range as it was at the version's revision: its newest entry and how many there were must be what the version
 * says. A restored backup has the same ids and numbers, and is another history; only its content tells.
 */
export async function recognise(
  visit: Visit,
  range: KeyRange,
  version: EtcdVersion,
  doubt: string | undefined,
): Promise<Newest> {
  const { revision, count, newest, digest } = version
  const { seen, hasValues } = await read(visit, range, version, doubt)
  if (seen.count !== count) throw forked(`it had ${seen.count} keys at revision ${revision}, not ${count}`)
  // Without a newest entry it was empty, or nobody knew: then it is asked for when it is needed.
  if (newest === 0) return new Newest(count)
  const found = seen.kvs.filter(({ modRevision }) => modRevision === newest)
  if (found.length === 0 || found.length !== seen.kvs.length)
    throw forked(`its newest entry at revision ${revision} was of ${seen.kvs[0]?.modRevision ?? 0}, not of ${newest}`)
  if (!hasValues) return new Newest(count)
  if (!found.some((kv) => digestOf(kv) === digest)) throw forked(`its entry of revision ${newest} is another`)
  return Newest.of(count, found)
}

/**
 * What speaks against its being the same history, where nothing that can be proved does. A restored backup begins with new
 * terms and with few entries in the members' log; an election, or another member's word, may look like that as well.
 */
export function doubtOf(version: EtcdVersion, head: Header, status: ServerStatus | undefined): string | undefined {
  if (head.term !== version.term) return `the term was ${version.term}, and is ${head.term}`
  if (status === undefined || status.raftIndex >= version.raftIndex) return undefined
  return `the members had agreed on ${version.raftIndex} things, and now on ${status.raftIndex}`
}

/** The entries that are as new as the version's newest, or newer, at its revision; without values where those are too large. */
async function read(
  visit: Visit,
  { start, end }: KeyRange,
  { revision, newest }: EtcdVersion,
  doubt: string | undefined,
): Promise<{ readonly seen: RangeResponse; readonly hasValues: boolean }> {
  const all = { key: start, end, revision, isNewestFirst: true }
  const keysOnly = { ...all, minModRevision: newest, limit: newest === 0 ? 1 : MOST_AT_ONCE, isKeysOnly: true }
  try {
    if (newest === 0) return { seen: await visit.range(keysOnly), hasValues: false }
    return { seen: await visit.range({ ...keysOnly, isKeysOnly: false }), hasValues: true }
  } catch (error) {
    if (isTooLarge(error)) return { seen: await visit.range(keysOnly), hasValues: false }
    if (!isCompacted(error)) throw error
    // Behind what is compacted nothing can be proved.
    throw gone(`revision ${revision} has been compacted`, doubt)
  }
}

/** Asks for the newest entries at a revision. Where it is compacted nothing is learned: nobody can resume from it anyway. */
export async function refill(newest: Newest, visit: Visit, { start, end }: KeyRange, revision: number): Promise<void> {
  for (const limit of [REMEMBERED, 1]) {
    try {
      const { kvs } = await visit.range({ key: start, end, revision, isNewestFirst: true, limit })
      newest.learn(kvs)
      return
    } catch (error) {
      if (isCompacted(error)) return
      if (!isTooLarge(error) || limit === 1) throw error
    }
  }
}

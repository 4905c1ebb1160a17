import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'

/** What tells one history from another that has the same numbers: its newest entry, and how many there are. */
export interface Fingerprint {
  readonly count: number
  /** The revision of the newest entry that lives; 0 where there is none, or where it is not known. */
  readonly newest: number
  /** Of that entry's key and value; `-` where there is none, `?` where it is not known. */
  readonly digest: string
}

/** Where a mirror is, and by what the history before can be recognised. */
export interface EtcdVersion extends Fingerprint {
  readonly clusterId: string
  /** A term that the cluster had already reached: it never goes back. */
  readonly term: number
  readonly revision: number
  /** How much the cluster had agreed on already, or less; 0 where nobody knows. */
  readonly raftIndex: number
}

interface Position {
  readonly clusterId: string | undefined
  readonly revision: number
}

/** `etcd1.<cluster>.<term>.<revision>.<count>.<newest>.<digest>.<raft index>` */
export function formatVersion(version: EtcdVersion): Version {
  const { clusterId, term, revision, count, newest, digest, raftIndex } = version
  return ['etcd1', clusterId, term, revision, count, newest, digest, raftIndex].join('.')
}

/** `etcdh1.<cluster>.<revision>`: where the server is; nothing can be resumed from it. */
export function formatHead(clusterId: string, revision: number): Version {
  return ['etcdh1', clusterId, revision].join('.')
}

export function parseVersion(version: Version): EtcdVersion {
  const match = /^etcd1\.([0-9a-f]{1,16})\.(\d+)\.(\d+)\.(\d+)\.(\d+)\.([\w-]{16}|[-?])\.(\d+)$/.exec(version)
  if (match === null) throw notOurs(version)
  const [, clusterId = '', ...fields] = match
  const [digest = ''] = fields.splice(4, 1)
  const numbers = fields.map(Number)
  if (!numbers.every(Number.isSafeInteger)) throw notOurs(version)
  const [term = 0, revision = 0, count = 0, newest = 0, raftIndex = 0] = numbers
  return { clusterId, term, revision, count, newest, digest, raftIndex }
}

/**
 * Whether a mirror at `at` includes `mark`, which is a version, a head, or the `header.revision` of a write as it is.
 * Throws `EPOCH_CHANGED` for another cluster, `PROTOCOL` for nonsense.
 */
export function includesMark(at: Version, mark: Version): boolean {
  const [here, there] = [parsePosition(at), parsePosition(mark)]
  if (here.clusterId !== undefined && there.clusterId !== undefined && here.clusterId !== there.clusterId) {
    throw new SourceError('the version is of another cluster', { code: 'EPOCH_CHANGED' })
  }
  return here.revision >= there.revision
}

function parsePosition(version: Version): Position {
  if (version.startsWith('etcd1.')) return parseVersion(version)
  const match = /^(?:etcdh1\.([0-9a-f]{1,16})\.)?(\d{1,16})$/.exec(version)
  const revision = Number(match?.[2])
  if (!Number.isSafeInteger(revision)) throw notOurs(version)
  return { clusterId: match?.[1], revision }
}

function notOurs(version: string): SourceError {
  const shown = version.length > 60 ? `${version.slice(0, 60)}…` : version
  return new SourceError(`"${shown}" is no version of an etcd source`, { code: 'PROTOCOL' })
}

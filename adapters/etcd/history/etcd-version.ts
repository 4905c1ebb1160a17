import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { integer, notAVersion, textField, versionFormat } from '../../shared/version-format.js'

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

const OF = 'an etcd source'
const clusterId = textField(/^[0-9a-f]{1,16}$/)

const versions = versionFormat<EtcdVersion>('etcd1', OF, {
  clusterId,
  term: integer,
  revision: integer,
  count: integer,
  newest: integer,
  digest: textField(/^(?:[\w-]{16}|[-?])$/),
  raftIndex: integer,
})
const heads = versionFormat<{ readonly clusterId: string; readonly revision: number }>('etcdh1', OF, {
  clusterId,
  revision: integer,
})

/** `etcd1.<cluster>.<term>.<revision>.<count>.<newest>.<digest>.<raft index>` */
export function formatVersion(version: EtcdVersion): Version {
  return versions.format(version)
}

/** `etcdh1.<cluster>.<revision>`: the current revision of the server. No watch can be resumed from it. */
export function formatHead({ clusterId, revision }: Pick<EtcdVersion, 'clusterId' | 'revision'>): Version {
  return heads.format({ clusterId, revision })
}

export function parseVersion(version: Version): EtcdVersion {
  return versions.parse(version)
}

/**
 * Whether a mirror at `at` includes `mark`: a version, a head, or the `header.revision` of a write.
 * Throws `EPOCH_CHANGED` for another cluster, and `PROTOCOL` for any other text.
 */
export function includesMark(at: Version, mark: Version): boolean {
  const [here, there] = [parsePosition(at), parsePosition(mark)]
  if (here.clusterId !== undefined && there.clusterId !== undefined && here.clusterId !== there.clusterId) {
    throw new SourceError('the version is of another cluster', { code: 'EPOCH_CHANGED' })
  }
  return here.revision >= there.revision
}

function parsePosition(version: Version): Position {
  if (version.startsWith('etcd1.')) return versions.parse(version)
  if (version.startsWith('etcdh1.')) return heads.parse(version)
  if (!integer.allows(version)) throw notAVersion(version, OF)
  return { clusterId: undefined, revision: Number(version) }
}

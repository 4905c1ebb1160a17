import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'
import { integer, notAVersion, textField, versionFormat } from '../../common/version-format.js'

/** Distinguishes histories that have the same revision: the newest entry, and the number of keys. */
export interface Fingerprint {
  readonly count: number
  /** The revision of the newest existing entry; 0 if the range is empty or the entry is unknown. */
  readonly newest: number
  /** The hash of that entry's key and value; `-` if the range is empty, `?` if it is unknown. */
  readonly digest: string
}

/** The position of a mirror, with a proof of the history before it. */
export interface EtcdVersion extends Fingerprint {
  readonly clusterId: string
  /** A raft term that the cluster had reached. Within one history it never decreases. */
  readonly term: number
  readonly revision: number
  /** A raft index that the cluster had reached; 0 if it is unknown. */
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
export const formatVersion: (version: EtcdVersion) => Version = versions.format
export const parseVersion: (version: Version) => EtcdVersion = versions.parse

/** `etcdh1.<cluster>.<revision>`: the current revision of the server. No watch can be resumed from it. */
export function formatHead({ clusterId, revision }: Pick<EtcdVersion, 'clusterId' | 'revision'>): Version {
  return heads.format({ clusterId, revision })
}

/** `mark`: a version, a head, or the `header.revision` of a write. Throws `EPOCH_CHANGED` for another cluster. */
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

import type { Version } from '../../../src/contract/version.js'
import { propertiesOf } from '../../common/properties.js'
import type { ApiRequests } from '../http/api-requests.js'
import type { ApiSession } from '../http/api-session.js'
import { historyRewound } from './history-errors.js'
import { assertResourceVersion, compareVersions } from './resource-version.js'

/** Throws if versions of this cluster must not be compared with those of the mirror. */
export type ClusterCheck = (clusterId: string | undefined) => void

/** Returns the server's current version. The read is confirmed by a majority of etcd. */
export async function readHead(session: ApiSession, requests: ApiRequests): Promise<Version> {
  const answer = await session.json(requests.list({ limit: 1 }, true))
  const { resourceVersion } = propertiesOf(propertiesOf(answer)['metadata'])
  const version = typeof resourceVersion === 'string' ? resourceVersion : ''
  assertResourceVersion(version)
  return version
}

/** Throws `EPOCH_CHANGED` if the server's version is lower than `after`: etcd was restored. */
export async function assertHistory(
  session: ApiSession,
  requests: ApiRequests,
  after: Version,
  checkCluster: ClusterCheck,
): Promise<Version> {
  const head = await readHead(session, requests)
  checkCluster(session.clusterId)
  if (compareVersions(head, after) < 0) throw historyRewound(after, head)
  return head
}

import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'

/** The KubeConfig points to another cluster than the one that a mirror shows. */
export class ClusterChangedError extends SourceError {
  readonly clusterId: string | undefined

  constructor(clusterId: string | undefined) {
    super('the kubeConfig points to another server than before: everything is listed there', { code: 'EPOCH_CHANGED' })
    this.clusterId = clusterId
  }
}

/** The server's version is lower than one it has issued. A history rewinds only if etcd is restored. */
export function historyRewound(from: Version, to: Version): SourceError {
  return new SourceError(`the history went back from ${from} to ${to}: etcd was restored`, { code: 'EPOCH_CHANGED' })
}

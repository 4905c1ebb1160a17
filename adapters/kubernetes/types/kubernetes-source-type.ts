import type { ListContext, ListerWatcher, SourceContext, VersionPage } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'

/**
 * A source of one kind of objects of a Kubernetes API server. The mark of a write is the `metadata.resourceVersion` it
 * returns.
 *
 * @example
 * ```ts
 * const source = kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod', namespace: 'default' })
 * const pods = createInformer({ source })
 * await pods.start().synced()
 * const { metadata } = await core.createNamespacedPod({ namespace: 'default', body: pod })
 * await pods.waitFor(metadata?.resourceVersion ?? '') // The mark of the write.
 * ```
 */
export interface KubernetesSource<T> extends ListerWatcher<T> {
  /** The longest silence of a healthy watch, in milliseconds. */
  readonly heartbeatMs: number
  /** Lists the keys and versions of all objects, from their metadata. */
  versions(context: ListContext): AsyncIterable<VersionPage>
  /**
   * Resolves with the server's current version, which a majority of etcd has confirmed.
   *
   * @throws SourceError `EPOCH_CHANGED` if a watch of this source was ahead of it: etcd was restored.
   */
  head(context: SourceContext): Promise<Version>
  /**
   * Returns whether `at` includes the write with this mark.
   *
   * @throws SourceError `PROTOCOL` if one of them is not a resourceVersion.
   */
  hasReached(at: Version, mark: Version): boolean
}

/**
 * A source over the objects of Kubernetes, a writer of them, and leases of replicas.
 *
 * @module listwatch/kubernetes
 */

export type { LeaseOptions } from '../common/lease-options.js'
export { type ClientNodeInformer, makeInformer } from './client-node/make-informer.js'
export type { KubeConfigLike, KubeConfigProvider } from './http/credentials.js'
export type { KubernetesSourceOptions } from './kubernetes-options.js'
export { kubernetesSource } from './kubernetes-source.js'
export { type KubernetesLeasesOptions, kubernetesLeases } from './leases/kubernetes-leases.js'
export type { KubernetesNamespaces } from './namespace-set.js'
export { type Owned, type OwnedByOptions, ownedBy } from './owned-by.js'
export type { KubernetesShard } from './shard.js'
export type { KubernetesObject } from './types/kubernetes-object.js'
export type { KubernetesSource } from './types/kubernetes-source-type.js'
export type { RenamedFields, RenamedInSchemas, Wire } from './types/wire.js'
export { ApplyConflictError, type FieldConflict } from './write/apply-conflict.js'
export type { EventRecorder, EventRecorderOptions, KubernetesEvent } from './write/event-recorder.js'
export type { FinalizerOptions, ObjectContext } from './write/finalizer.js'
export {
  type KubernetesApplyOptions,
  type KubernetesWriter,
  type KubernetesWriterOptions,
  kubernetesWriter,
} from './write/kubernetes-writer.js'
export type { KubernetesReference, KubernetesWritten } from './write/object-types.js'

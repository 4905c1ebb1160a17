/**
 * An API server of Kubernetes in memory, for tests.
 *
 * @module listwatch/testing/kubernetes
 */

export type { KubeConfigLike, KubernetesObject } from '../../adapters/kubernetes/index.js'
export { fakeKubernetes } from './fake-kubernetes.js'
export type { FakeFailure, FakeKubernetes, FakeKubernetesOptions, FakeRequest } from './fake-kubernetes-types.js'
export type { FakeResource } from './fake-resources.js'
export type { FakeObject, FakeObjectDraft, FakeReference } from './objects/fake-object.js'

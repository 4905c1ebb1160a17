export type { KubeConfigGiver, KubeConfigLike } from './kube-config.js';
export type { KubernetesObject } from './kubernetes-object.js';
export type { KubernetesSourceOptions } from './kubernetes-options.js';
export { type KubernetesSource, kubernetesSource } from './kubernetes-source.js';
export { type ClientNodeInformer, makeInformer } from './make-informer.js';
export type { KubernetesNamespaces } from './namespaces.js';
export type { Wire } from './wire.js';

export type { KubeConfigGiver, KubeConfigLike } from './kube-config.js';
export { type KubernetesSource, type KubernetesSourceOptions, kubernetesSource } from './kubernetes-source.js';
export { type ClientNodeInformer, makeInformer } from './make-informer.js';
export type { KubernetesNamespaces } from './namespaces.js';

export { type ClientNodeInformer, makeInformer } from './client-node/make-informer.js';
export type { KubeConfigLike, KubeConfigProvider } from './http/credentials.js';
export type { KubernetesSourceOptions } from './kubernetes-options.js';
export { kubernetesSource } from './kubernetes-source.js';
export type { KubernetesNamespaces } from './namespace-set.js';
export type { KubernetesObject } from './types/kubernetes-object.js';
export type { KubernetesSource } from './types/kubernetes-source-type.js';
export type { Wire } from './types/wire.js';

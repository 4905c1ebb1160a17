export type { KubeConfigGiver, KubeConfigLike } from './kube-config.js'
export { type KubernetesSource, type KubernetesSourceOptions, kubernetesSource } from './kubernetes-source.js'

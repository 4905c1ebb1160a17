import type { KubernetesPrograms } from '../servers/index.js'
import { type Kubernetes, type KubernetesOptions, startKubernetes } from '../servers/kubernetes.js'
import { startForTests } from '../support/start-for-tests.js'

/** One Kubernetes for the tests of a file or a group, started before the first and gone after the last. */
export function useKubernetes(
  server: KubernetesPrograms,
  options: Omit<KubernetesOptions, 'server'> = {},
): { readonly kubernetes: Kubernetes } {
  const started = startForTests(() => startKubernetes({ server, ...options }))
  return {
    get kubernetes() {
      return started()
    },
  }
}

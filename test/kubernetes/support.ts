import { afterAll, beforeAll } from 'vitest'
import type { KubernetesPrograms } from '../servers/index.js'
import { type Kubernetes, type KubernetesOptions, startKubernetes } from '../servers/kubernetes.js'

/** One Kubernetes for the tests of a file or a group, started before the first and gone after the last. */
export function useKubernetes(
  server: KubernetesPrograms,
  options: Omit<KubernetesOptions, 'server'> = {},
): { readonly kubernetes: Kubernetes } {
  let started: Kubernetes | undefined
  beforeAll(async () => {
    started = await startKubernetes({ server, ...options })
  })
  afterAll(async () => {
    await started?.[Symbol.asyncDispose]()
  })
  return {
    get kubernetes() {
      if (started === undefined) throw new Error('the server is not up yet')
      return started
    },
  }
}

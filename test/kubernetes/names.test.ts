import { expect, test } from 'vitest'
import { type KubernetesSourceOptions, kubernetesSource } from '../../adapters/kubernetes/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { describeKubernetes } from '../servers/index.js'
import { failure } from '../support/failure.js'
import { useKubernetes } from './support.js'

describeKubernetes('the wanted resource', (server) => {
  const own = useKubernetes(server)

  async function listed(options: Omit<KubernetesSourceOptions, 'kubeConfig'>): Promise<number> {
    const source = kubernetesSource({ kubeConfig: own.kubernetes.config(), ...options })
    const { signal } = new AbortController()
    const pages = source.list({ signal, clock: systemClock, random: new SeededRandom(1), pageSize: 100 })
    let objects = 0
    for await (const { events } of pages) objects += events.length
    return objects
  }

  test.each([
    [{ kind: 'ConfgMap' }, 'the server has no kind "ConfgMap" in v1; did you mean ConfigMap?'],
    [{ kind: 'configmap' }, 'did you mean ConfigMap?'],
    [{ kind: 'cm' }, 'did you mean ConfigMap?'],
    [{ plural: 'pod' }, 'the server has no resource "pod" in v1; did you mean pods?'],
    [{ kind: 'Unheard' }, 'the server has no kind "Unheard" in v1 (kubectl api-resources lists all)'],
    [
      { kind: 'Deployment' },
      'the server has no kind "Deployment" in v1: apiVersion "apps/v1" has it (kubectl api-resources lists all)',
    ],
    [{ plural: 'deployments' }, 'no resource "deployments" in v1: apiVersion "apps/v1" has'],
    [{ apiVersion: 'apps/v1', kind: 'Pod' }, 'apiVersion "v1" has it'],
    [{ apiVersion: 'apps/v1', kind: 'Event' }, 'apiVersion "v1", "events.k8s.io/v1" have it'],
    [
      { apiVersion: 'example.org/v1', kind: 'Thing' },
      'the server has no API "example.org/v1" (check apiVersion: kubectl api-versions)',
    ],
    [{ plural: 'pods-status' }, 'the server has no resource "pods-status"'],
  ])('%o is NOT_FOUND, and the message says what is meant', async (options, says) => {
    await expect(listed(options)).rejects.toMatchObject(failure('NOT_FOUND', says))
  })

  test.each([
    [{ kind: 'Namespace', namespace: 'default' }, 'namespaces are in no namespace (leave out namespace: "default")'],
    [{ kind: 'Binding' }, 'bindings of v1 cannot be listed and watched; it has create'],
    [{ kind: 'ComponentStatus' }, 'componentstatuses of v1 cannot be listed and watched; it has get, list'],
  ])('%o is PROTOCOL, and the message says why', async (options, says) => {
    await expect(listed(options)).rejects.toMatchObject(failure('PROTOCOL', says))
  })

  test('a resource without namespaces is read without one', async () => {
    expect(await listed({ kind: 'Namespace' })).toBeGreaterThan(0)
  })
})

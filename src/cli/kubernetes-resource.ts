import { Credentials, type KubeConfigLike } from '../../adapters/kubernetes/kube-config.js'
import { groupPath } from '../../adapters/kubernetes/resource.js'
import { Visit } from '../../adapters/kubernetes/visit.js'
import { systemClock } from '../clock.js'
import { SourceError } from '../errors.js'
import { Failure } from './failure.js'

/** How long the server may take to answer, in milliseconds. */
const STALL_MS = 15_000

/** What `kubernetesSource` calls it. */
export interface ResourceChoice {
  readonly apiVersion: string
  readonly plural: string
}

interface Served {
  readonly name?: string
  readonly kind?: string
  readonly singularName?: string
  readonly shortNames?: readonly string[]
  readonly namespaced?: boolean
}

/**
 * Finds what the user means as kubectl does: `pods`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`; in the
 * server's own API first, and then in its groups. Makes sure of the namespace too, as far as we may look.
 */
export async function chooseResource(
  kubeConfig: KubeConfigLike,
  name: string,
  namespace: string | undefined,
): Promise<ResourceChoice> {
  const { signal } = new AbortController()
  const visit = new Visit(new Credentials(kubeConfig), { signal, clock: systemClock, stallMs: STALL_MS })
  try {
    const choice = await find(visit, name)
    if (namespace !== undefined) await assertNamespace(visit, namespace)
    return choice
  } finally {
    visit.close()
  }
}

async function find(visit: Visit, name: string): Promise<ResourceChoice> {
  const [word = '', ...rest] = name.split('.')
  const [first = '', ...others] = rest
  const hasVersion = /^v\d+((alpha|beta)\d+)?$/.test(first)
  const group = hasVersion ? others.join('.') : rest.join('.')
  if (hasVersion) {
    const apiVersion = group === '' ? first : `${group}/${first}`
    return named(word, apiVersion, await servedIn(visit, apiVersion)) ?? unknown(name)
  }
  for await (const apiVersion of versions(visit, group)) {
    const found = named(word, apiVersion, await servedIn(visit, apiVersion))
    if (found !== undefined) return found
  }
  return unknown(name)
}

/** Of this group, or of all, the server's own first. */
async function* versions(visit: Visit, wanted: string): AsyncGenerator<string> {
  if (wanted === '') yield 'v1'
  const { groups } = Object(await visit.json({ verb: 'get', path: '/apis' })) as { readonly groups?: unknown }
  for (const each of Array.isArray(groups) ? groups : []) {
    const { name, preferredVersion } = Object(each) as {
      readonly name?: string
      readonly preferredVersion?: { readonly groupVersion?: string }
    }
    const apiVersion = preferredVersion?.groupVersion
    if (apiVersion !== undefined && (wanted === '' || name === wanted)) yield apiVersion
  }
}

/** Nothing where the server has no such API, or where what stands behind it does not answer. */
async function servedIn(visit: Visit, apiVersion: string): Promise<readonly Served[]> {
  try {
    const answer = await visit.json({ verb: 'get', path: groupPath(apiVersion) })
    const { resources } = Object(answer) as { readonly resources?: unknown }
    return Array.isArray(resources) ? (resources as readonly Served[]) : []
  } catch (error) {
    if (apiVersion !== 'v1' && error instanceof SourceError && ['NOT_FOUND', 'UNAVAILABLE'].includes(error.code))
      return []
    throw error
  }
}

function named(word: string, apiVersion: string, served: readonly Served[]): ResourceChoice | undefined {
  const asked = word.toLowerCase()
  const found = served.find(({ name = '', kind = '', singularName = '', shortNames = [] }) =>
    [name, kind.toLowerCase(), singularName, ...shortNames].includes(asked),
  )
  return found?.name === undefined ? undefined : { apiVersion, plural: found.name }
}

function unknown(name: string): never {
  throw new Failure(`the server has no resource "${name}"; see: kubectl api-resources`)
}

/** A namespace that is not there looks like one that is empty. */
async function assertNamespace(visit: Visit, namespace: string): Promise<void> {
  try {
    await visit.json({ verb: 'get', path: `/api/v1/namespaces/${namespace}` })
  } catch (error) {
    if (!(error instanceof SourceError && error.code === 'NOT_FOUND')) return
    throw new Failure(`there is no namespace "${namespace}"; see: kubectl get namespaces`)
  }
}

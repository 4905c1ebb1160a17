import { ApiSession } from '../../adapters/kubernetes/http/api-session.js'
import { Credentials, type KubeConfigLike } from '../../adapters/kubernetes/http/credentials.js'
import { isWatchable, namesOf, resourcesOf, type Served } from '../../adapters/kubernetes/http/discovery.js'
import { systemClock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import { CliError } from '../output/cli-error.js'

/** How long the server may take to answer, in milliseconds. */
const STALL_MS = 15_000

/** What `kubernetesSource` calls it. */
export interface ResourceChoice {
  readonly apiVersion: string
  readonly plural: string
}

/**
 * Finds what the user means as kubectl does: `pods`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`; in the
 * server's own API first, and then in its groups. Makes sure of the namespace too, as far as we may look.
 */
export async function resolveResource(
  kubeConfig: KubeConfigLike,
  name: string,
  namespace: string | undefined,
): Promise<ResourceChoice> {
  const { signal } = new AbortController()
  const visit = new ApiSession(new Credentials(kubeConfig), { signal, clock: systemClock, stallMs: STALL_MS })
  try {
    const choice = await find(visit, name)
    if (namespace !== undefined) await assertNamespace(visit, namespace)
    return choice
  } finally {
    visit.close()
  }
}

async function find(visit: ApiSession, name: string): Promise<ResourceChoice> {
  const [word = '', ...rest] = name.split('.')
  const [first = '', ...others] = rest
  const hasVersion = /^v\d+((alpha|beta)\d+)?$/.test(first)
  const group = hasVersion ? others.join('.') : rest.join('.')
  const asked = hasVersion ? [group === '' ? first : `${group}/${first}`] : versions(visit, group)
  const silent: string[] = []
  let unwatchable: ResourceChoice | undefined
  for await (const apiVersion of asked) {
    const served = await servedIn(visit, apiVersion, hasVersion ? undefined : silent)
    for (const each of served.filter((one) => namesOf(one).includes(word.toLowerCase()))) {
      const choice = { apiVersion, plural: each.name }
      if (isWatchable(each)) return choice
      unwatchable ??= choice
    }
  }
  // The source says why it cannot be mirrored.
  if (unwatchable !== undefined) return unwatchable
  const but = silent.length === 0 ? '' : ` (${silent.join(', ')} did not say what there is)`
  throw new CliError(`the server has no resource "${name}"${but}; see: kubectl api-resources`)
}

/** Of this group, or of all, the server's own first. */
async function* versions(visit: ApiSession, wanted: string): AsyncGenerator<string> {
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

/** Nothing where the server has no such API; where it refuses or does not answer, it comes to the `silent`, if there may be such. */
async function servedIn(visit: ApiSession, apiVersion: string, silent?: string[]): Promise<readonly Served[]> {
  try {
    return await resourcesOf(visit, apiVersion)
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    if (error.code === 'NOT_FOUND') return []
    if (silent === undefined || apiVersion === 'v1') throw error
    silent.push(apiVersion)
    return []
  }
}

/** A namespace that is not there looks like one that is empty. */
async function assertNamespace(visit: ApiSession, namespace: string): Promise<void> {
  try {
    await visit.json({ verb: 'get', path: `/api/v1/namespaces/${namespace}` })
  } catch (error) {
    if (!(error instanceof SourceError && error.code === 'NOT_FOUND')) return
    throw new CliError(`there is no namespace "${namespace}"; see: kubectl get namespaces`)
  }
}

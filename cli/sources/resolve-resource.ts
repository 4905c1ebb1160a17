import {
  ApiSession,
  Credentials,
  isWatchable,
  type KubeConfigLike,
  namesOf,
  resourcesOf,
  type Served,
} from '../../adapters/kubernetes/internal.js'
import { systemClock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import { fieldOf } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'

const TIMEOUT_MS = 15_000

export interface ResourceChoice {
  readonly apiVersion: string
  readonly plural: string
}

/**
 * Finds a resource by the names that kubectl accepts: `pods`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`.
 * The core API is searched before the groups. Throws a CliError for an unknown resource or namespace.
 */
export async function resolveResource(
  kubeConfig: KubeConfigLike,
  name: string,
  namespace: string | undefined,
): Promise<ResourceChoice> {
  const { signal } = new AbortController()
  const session = new ApiSession(new Credentials(kubeConfig), { signal, clock: systemClock, timeoutMs: TIMEOUT_MS })
  try {
    const choice = await find(session, name)
    if (namespace !== undefined) await assertNamespace(session, namespace)
    return choice
  } finally {
    session.close()
  }
}

async function find(session: ApiSession, name: string): Promise<ResourceChoice> {
  const [word = '', ...rest] = name.split('.')
  const [first = '', ...others] = rest
  const hasVersion = /^v\d+((alpha|beta)\d+)?$/.test(first)
  const group = hasVersion ? others.join('.') : rest.join('.')
  const apiVersions = hasVersion ? [group === '' ? first : `${group}/${first}`] : versions(session, group)
  const silent: string[] = []
  let unwatchable: ResourceChoice | undefined
  for await (const apiVersion of apiVersions) {
    const served = await servedIn(session, apiVersion, hasVersion ? undefined : silent)
    for (const each of served.filter((one) => namesOf(one).includes(word.toLowerCase()))) {
      const choice = { apiVersion, plural: each.name }
      if (isWatchable(each)) return choice
      unwatchable ??= choice
    }
  }
  // The source then reports why it cannot be mirrored.
  if (unwatchable !== undefined) return unwatchable
  const but = silent.length === 0 ? '' : ` (${silent.join(', ')} did not list their resources)`
  throw new CliError(`the server has no resource "${name}"${but}; see: kubectl api-resources`)
}

/** The preferred versions of this group, or of all groups with the core API first. */
async function* versions(session: ApiSession, wanted: string): AsyncGenerator<string> {
  if (wanted === '') yield 'v1'
  const groups = fieldOf(await session.json({ verb: 'get', path: '/apis' }), 'groups')
  for (const group of Array.isArray(groups) ? groups : []) {
    const version = fieldOf(group, 'preferredVersion.groupVersion')
    if (typeof version === 'string' && (wanted === '' || fieldOf(group, 'name') === wanted)) yield version
  }
}

/** Returns none if the API does not exist. An API that fails is added to `silent`, if that is given. */
async function servedIn(session: ApiSession, apiVersion: string, silent?: string[]): Promise<readonly Served[]> {
  try {
    return await resourcesOf(session, apiVersion)
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    if (error.code === 'NOT_FOUND') return []
    if (silent === undefined || apiVersion === 'v1') throw error
    silent.push(apiVersion)
    return []
  }
}

/** Throws if the namespace does not exist, because it would look like an empty one. */
async function assertNamespace(session: ApiSession, namespace: string): Promise<void> {
  try {
    await session.json({ verb: 'get', path: `/api/v1/namespaces/${namespace}` })
  } catch (error) {
    if (!(error instanceof SourceError && error.code === 'NOT_FOUND')) return
    throw new CliError(`there is no namespace "${namespace}"; see: kubectl get namespaces`)
  }
}

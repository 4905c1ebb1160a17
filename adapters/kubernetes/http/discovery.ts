import { SourceError } from '../../../src/contract/errors.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import { notFound, refused } from '../../common/source-errors.js'
import type { ApiSession } from './api-session.js'

/** Requests all resources of the server, in one response for each of the two roots (Kubernetes 1.30 and later). */
const ALL = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

export interface Resource {
  /** Empty for the core group. */
  readonly group: string
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly isNamespaced: boolean
}

/** A resource by its kind in a manifest, or by its name in a path. */
export interface ResourceName {
  readonly apiVersion: string
  readonly kind: string | undefined
  readonly plural: string | undefined
}

export interface Served {
  readonly name: string
  readonly kind: string
  readonly singularName?: string
  readonly shortNames?: readonly string[]
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}

/** `/api/v1`, `/apis/apps/v1` */
export function groupPath(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
}

export function resourcePath({ apiVersion, plural }: Resource, namespace: string | undefined): string {
  const scope = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`
  return `${groupPath(apiVersion)}${scope}/${plural}`
}

/** `NOT_FOUND` if the server has none, with the nearest name or the APIs that have it. */
export async function findResource(session: ApiSession, wanted: ResourceName): Promise<Resource> {
  const { apiVersion, kind, plural } = wanted
  const slash = apiVersion.indexOf('/')
  const group = slash === -1 ? '' : apiVersion.slice(0, slash)
  const served = await resourcesOf(session, apiVersion)
  const found = served.find((each) => (plural === undefined ? each.kind === kind : each.name === plural))
  if (found === undefined) throw await unknownResource(session, wanted, served)
  if (!isWatchable(found))
    throw refused(`${found.name} of ${apiVersion} cannot be listed and watched; it has ${found.verbs.join(', ')}`)
  return { group, apiVersion, kind: found.kind, plural: found.name, isNamespaced: found.namespaced }
}

/** Returns the resources of an API, without subresources. `NOT_FOUND` if the server has no such API. */
export async function resourcesOf(session: ApiSession, apiVersion: string): Promise<readonly Served[]> {
  let answer: unknown
  try {
    answer = await session.json({ verb: 'get', path: groupPath(apiVersion) })
  } catch (error) {
    if (!(error instanceof SourceError && error.code === 'NOT_FOUND')) throw error
    throw notFound(`the server has no API "${apiVersion}" (check apiVersion: kubectl api-versions)`, error)
  }
  const { resources } = propertiesOf(answer)
  if (!Array.isArray(resources))
    throw refused('the answer is not a list of resources: is this the API server of a Kubernetes cluster?')
  // A name with a slash is a subresource: pods/status.
  return resources.filter((each): each is Served => isServed(each) && !each.name.includes('/'))
}

export function isWatchable({ verbs }: Served): boolean {
  return ['list', 'watch'].every((verb) => verbs.includes(verb))
}

export function namesOf({ name, kind, singularName = '', shortNames = [] }: Served): readonly string[] {
  return [name, kind, singularName, ...shortNames].filter((each) => each !== '').map((each) => each.toLowerCase())
}

function isServed(value: unknown): value is Served {
  const { name, kind, verbs } = propertiesOf(value)
  return typeof name === 'string' && typeof kind === 'string' && Array.isArray(verbs)
}

async function unknownResource(
  session: ApiSession,
  wanted: ResourceName,
  served: readonly Served[],
): Promise<SourceError> {
  const { apiVersion, kind, plural } = wanted
  const name = (kind ?? plural ?? '').toLowerCase()
  const like = (isLike: (name: string) => boolean): Served | undefined =>
    served.find((each) => namesOf(each).some(isLike))
  const near = like((each) => each === name) ?? like((each) => isNear(each, name))
  const meant =
    near === undefined
      ? otherApisHint(await otherApisWith(session, wanted))
      : `; did you mean ${kind === undefined ? near.name : near.kind}?`
  const what = kind === undefined ? `resource "${plural}"` : `kind "${kind}"`
  return notFound(`the server has no ${what} in ${apiVersion}${meant} (kubectl api-resources lists all)`)
}

function otherApisHint(apis: readonly string[]): string {
  if (apis.length === 0) return ''
  return `: apiVersion ${apis.map((api) => `"${api}"`).join(', ')} ${apis.length === 1 ? 'has' : 'have'} it`
}

/** Whether the names differ by a plural ending, by two swapped letters, or by one letter. */
function isNear(a: string, b: string): boolean {
  if (a === b || `${a}s` === b || a === `${b}s`) return true
  if (Math.abs(a.length - b.length) > 1) return false
  let begin = 0
  while (begin < Math.min(a.length, b.length) && a[begin] === b[begin]) begin++
  let end = 0
  while (end < Math.min(a.length, b.length) - begin && a.at(-1 - end) === b.at(-1 - end)) end++
  const [middleA, middleB] = [a.slice(begin, a.length - end), b.slice(begin, b.length - end)]
  return (
    Math.max(middleA.length, middleB.length) <= 1 ||
    (middleA.length === 2 && middleA === [...middleB].reverse().join(''))
  )
}

/** The other APIs that have it, each by its preferred version; none if discovery fails: it only adds to a message. */
async function otherApisWith(session: ApiSession, wanted: ResourceName): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of ['/api', '/apis']) {
    const answer = await session.json({ verb: 'get', path, accept: ALL }).catch(() => undefined)
    for (const group of listIn(answer, 'items')) {
      const [preferred] = listIn(group, 'versions').filter((version) => hasResource(version, wanted))
      const name = textIn(fieldOf(group, 'metadata'), 'name')
      const version = textIn(preferred, 'version')
      if (version !== undefined) found.push(name === undefined || name === '' ? version : `${name}/${version}`)
    }
  }
  return found
}

function hasResource(version: unknown, { kind, plural }: ResourceName): boolean {
  return listIn(version, 'resources').some((each) =>
    plural === undefined ? textIn(fieldOf(each, 'responseKind'), 'kind') === kind : textIn(each, 'resource') === plural,
  )
}

function fieldOf(value: unknown, name: string): unknown {
  return propertiesOf(value)[name]
}

function listIn(value: unknown, name: string): readonly unknown[] {
  return elementsOf(fieldOf(value, name))
}

function textIn(value: unknown, name: string): string | undefined {
  const text = fieldOf(value, name)
  return typeof text === 'string' ? text : undefined
}

import { notFound } from './fake-status.js'

/**
 * A resource that the fake server serves.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * const zone = { apiVersion: 'example.com/v1', kind: 'Zone', plural: 'zones', isNamespaced: false } // Default: true.
 * await using server = await fakeKubernetes({ resources: [zone] })
 * server.put({ apiVersion: 'example.com/v1', kind: 'Zone', metadata: { name: 'eu' } })
 * ```
 */
export interface FakeResource {
  /** The group and the version: `apps/v1`, or `v1` for the core group. */
  readonly apiVersion: string
  /** The kind: `Site`. */
  readonly kind: string
  /** The name in paths: `sites`. */
  readonly plural: string
  /** Whether objects have a namespace. Default: true. */
  readonly isNamespaced?: boolean
}

export const BUILT_IN: readonly FakeResource[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' },
  { apiVersion: 'v1', kind: 'Namespace', plural: 'namespaces', isNamespaced: false },
  { apiVersion: 'v1', kind: 'Pod', plural: 'pods' },
  { apiVersion: 'v1', kind: 'Secret', plural: 'secrets' },
  { apiVersion: 'v1', kind: 'Service', plural: 'services' },
  { apiVersion: 'apps/v1', kind: 'Deployment', plural: 'deployments' },
  { apiVersion: 'events.k8s.io/v1', kind: 'Event', plural: 'events' },
]

/** Kinds without a status and `metadata.generation`. */
const PLAIN: ReadonlySet<string> = new Set(['ConfigMap', 'Event', 'Secret'])
/** Kinds without `metadata.generation`. */
const UNCOUNTED: ReadonlySet<string> = new Set([...PLAIN, 'Namespace', 'Service'])
/** Kinds of which a deletion returns the object, and not a status. */
const RETURNED: ReadonlySet<string> = new Set(['Namespace', 'Pod', 'Service'])

/** The groups of kube-apiserver with a dot. Others of k8s.io are custom: those of the Gateway API, for example. */
const BUILT_IN_GROUPS: ReadonlySet<string> = new Set(
  [
    ...['admissionregistration', 'apiextensions', 'apiregistration', 'authentication', 'authorization', 'certificates'],
    ...['coordination', 'discovery', 'events', 'flowcontrol.apiserver', 'internal.apiserver', 'networking', 'node'],
    ...['rbac.authorization', 'resource', 'scheduling', 'storage', 'storagemigration'],
  ].map((name) => `${name}.k8s.io`),
)

/** How an API server treats a resource. */
export interface Traits {
  /** Not built into Kubernetes. */
  readonly isCustom: boolean
  readonly hasStatus: boolean
  readonly hasGeneration: boolean
  readonly isReturned: boolean
}

export function traitsOf({ apiVersion, kind }: FakeResource): Traits {
  const [group = ''] = apiVersion.split('/')
  const isCustom = group.includes('.') && !BUILT_IN_GROUPS.has(group)
  const hasStatus = isCustom || !PLAIN.has(kind)
  return {
    isCustom,
    hasStatus,
    hasGeneration: isCustom || !UNCOUNTED.has(kind),
    isReturned: !isCustom && RETURNED.has(kind),
  }
}

const VERBS = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch']

/** The part of a path that names an API: `/api/v1` and `/apis/apps/v1`. */
const API = /^\/(?:api\/(v1)|apis\/([^/]+\/[^/]+))(?:\/(.*))?$/

export interface Target {
  readonly resource: FakeResource
  readonly namespace: string | undefined
  /** Undefined for a collection. */
  readonly name: string | undefined
  readonly subresource: string | undefined
}

/** The response of discovery, or the target of the request. */
export function targetOf(path: string, resources: readonly FakeResource[]): Target | { readonly discovery: object } {
  const [, core, group, rest] = API.exec(path) ?? []
  const apiVersion = core ?? group
  const served = resources.filter((each) => each.apiVersion === apiVersion)
  if (served.length === 0) throw notFound(`the path ${path}`)
  if (rest === undefined || rest === '') return { discovery: discoveryOf(apiVersion, served) }
  const parts = rest.split('/').map(decodeURIComponent)
  // `namespaces/a` is an object, and `namespaces/a/pods` a collection in it.
  const isScoped = parts[0] === 'namespaces' && parts.length > 2
  const [plural, name, subresource] = isScoped ? parts.slice(2) : parts
  const resource = served.find((each) => each.plural === plural)
  if (resource === undefined) throw notFound(`the resource ${plural}`)
  const { isNamespaced = true } = resource
  // The objects of all namespaces have one path, which is for lists and watches.
  if (isScoped ? !isNamespaced : isNamespaced && name !== undefined) throw notFound(`the path ${path}`)
  return { resource, namespace: isScoped ? parts[1] : undefined, name, subresource }
}

function discoveryOf(groupVersion: string | undefined, served: readonly FakeResource[]): object {
  const resources = served.map(({ kind, plural, isNamespaced = true }) => ({
    name: plural,
    singularName: kind.toLowerCase(),
    namespaced: isNamespaced,
    kind,
    verbs: VERBS,
  }))
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources }
}

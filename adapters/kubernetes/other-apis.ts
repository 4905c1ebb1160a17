import type { ResourceName } from './resource.js'
import type { Visit } from './visit.js'

/** All that a server has, in the one answer of each of its two roots (Kubernetes 1.30 and later). */
const ALL = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/** Which other APIs have what is asked for, each by its preferred version. Only for a message: none where the server does not say. */
export async function otherApisWith(visit: Visit, wanted: ResourceName): Promise<readonly string[]> {
  const found: string[] = []
  for (const path of ['/api', '/apis']) {
    const answer = await visit.json({ verb: 'get', path, accept: ALL }).catch(() => undefined)
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
  return (Object(value) as Readonly<Record<string, unknown>>)[name]
}

function listIn(value: unknown, name: string): readonly unknown[] {
  const list = fieldOf(value, name)
  return Array.isArray(list) ? list : []
}

function textIn(value: unknown, name: string): string | undefined {
  const text = fieldOf(value, name)
  return typeof text === 'string' ? text : undefined
}

import type { Version } from '../../../src/contract/version.js'
import { propertiesOf } from '../../common/properties.js'
import { compareVersions, isResourceVersion } from '../history/resource-version.js'

/** The metadata that identifies an object. A field that is missing is empty. */
export interface ObjectIdentity {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
}

export interface MirrorView {
  readonly size: number
  list(): readonly object[]
  has(key: string): boolean
  reached(version: Version): Promise<void>
}

const MAX_OBJECTS = 1_000

/**
 * Compares the result of `listFn` with the store, and returns a description of the difference. Returns undefined if
 * they match or cannot be compared, and with more than 1 000 objects: then `listFn` is not called. Rejects with the
 * error of `listFn`.
 */
export async function compareList(mirrored: MirrorView, listFn: () => Promise<unknown>): Promise<string | undefined> {
  if (mirrored.size > MAX_OBJECTS) return undefined
  const result = await listFn()
  try {
    const { items } = propertiesOf(result)
    const { resourceVersion: version } = identityOf(result)
    if (!Array.isArray(items) || !isResourceVersion(version)) return undefined
    const listed = new Set(items.map((item) => keyOf(identityOf(item))))
    // An object of a later version may be in only one of them.
    const isMissing = (object: ObjectIdentity): boolean =>
      !listed.has(keyOf(object)) && compareVersions(object.resourceVersion, version) <= 0
    const missing = (): number => mirrored.list().map(identityOf).filter(isMissing).length
    const added = (): number => [...listed].filter((key) => !mirrored.has(key)).length
    if (missing() + added() === 0) return undefined
    await mirrored.reached(version)
    const [less, more] = [missing(), added()]
    const what = [
      ...(less === 0 ? [] : [`leaves out ${less} of the ${mirrored.size} objects`]),
      ...(more === 0 ? [] : [`returns ${more} others`]),
    ]
    return what.length === 0 ? undefined : `listFn ${what.join(' and ')}`
  } catch {
    return undefined
  }
}

export function identityOf(object: unknown): ObjectIdentity {
  const { name, namespace, uid, resourceVersion } = propertiesOf(propertiesOf(object)['metadata'])
  return {
    name: textOf(name),
    namespace: textOf(namespace),
    uid: textOf(uid),
    resourceVersion: textOf(resourceVersion),
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function keyOf({ name, namespace }: Pick<ObjectIdentity, 'name' | 'namespace'>): string {
  return namespace === '' ? name : `${namespace}/${name}`
}

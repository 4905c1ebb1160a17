import type { Version } from '../../../src/contract/version.js'
import { compareVersions, isResourceVersion } from '../history/resource-version.js'

/** What an object has that says which it is. */
export interface ObjectIdentity {
  readonly metadata?: {
    readonly name?: string
    readonly namespace?: string
    readonly uid?: string
    readonly resourceVersion?: string
  }
}

/** What is mirrored. */
export interface MirrorView {
  readonly size: number
  list(): readonly object[]
  has(key: string): boolean
  /** Resolves once everything up to this version is in. */
  reached(version: Version): Promise<void>
}

/** A list of more is not asked for twice. */
const MAX_OBJECTS = 1_000

/**
 * Whether what `listFn` gives is what is mirrored, in words where it is not. Undefined where it is; or nobody can say; or there are so
 * many that another list would cost too much: then it is not called. Rejects with what `listFn` throws.
 */
export async function compareList(mirrored: MirrorView, listFn: () => Promise<unknown>): Promise<string | undefined> {
  if (mirrored.size > MAX_OBJECTS) return undefined
  const given = await listFn()
  try {
    const { items, metadata } = Object(given) as { readonly items?: unknown } & ObjectIdentity
    const version = metadata?.resourceVersion
    if (!Array.isArray(items) || !isResourceVersion(version)) return undefined
    const listed = new Set(items.map((item) => keyOf(Object(item) as ObjectIdentity)))
    // What is later may be in either without the other.
    const isMissing = (object: ObjectIdentity): boolean =>
      !listed.has(keyOf(object)) && compareVersions(object.metadata?.resourceVersion ?? '', version) <= 0
    const missing = (): number => mirrored.list().filter(isMissing).length
    const added = (): number => [...listed].filter((key) => !mirrored.has(key)).length
    if (missing() + added() === 0) return undefined
    await mirrored.reached(version)
    const [less, more] = [missing(), added()]
    const what = [
      ...(less === 0 ? [] : [`leaves out ${less} of the ${mirrored.size} objects`]),
      ...(more === 0 ? [] : [`gives ${more} others`]),
    ]
    return what.length === 0 ? undefined : `listFn ${what.join(' and ')}`
  } catch {
    return undefined
  }
}

export function keyOf({ metadata }: ObjectIdentity): string {
  const { name = '', namespace = '' } = metadata ?? {}
  return namespace === '' ? name : `${namespace}/${name}`
}

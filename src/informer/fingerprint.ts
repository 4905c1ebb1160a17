import type { ListerWatcher } from '../contract/source.js'
import { isAudited } from './informer-sources.js'
import type { InformerOptions } from './informer-types.js'
import type { CacheOption, ReadOnlyCache } from './source-cache.js'
import { DynamicSourceSet } from './source-set.js'

/**
 * The cache of the options or of the source, and the fingerprint of the stored objects, which is empty for a source
 * set.
 */
export function savedOptions<S, I extends object, P, T>(
  options: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S> | DynamicSourceSet<S>,
): { readonly cache: CacheOption['cache'] | undefined; readonly fingerprint: string } {
  if (source instanceof DynamicSourceSet) return { cache: options.cache, fingerprint: '' }
  return { cache: options.cache ?? snapshotsOf(options, source), fingerprint: fingerprintOf(options, source) }
}

/** The snapshots of a source, if their objects are those that the informer stores. */
function snapshotsOf<S, I extends object, P, T>(
  { schema, transform }: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S>,
): ReadOnlyCache | undefined {
  if (source.openSnapshot === undefined || schema !== undefined || transform !== undefined) return undefined
  const open: ReadOnlyCache['open'] = async (context) => await source.openSnapshot?.(context)
  return { name: 'its snapshot', serveStale: false, open }
}

/**
 * Returns the fingerprint of the stored objects: the source, its selection, and the options that change the stored
 * objects. It contains the text of `transform`, and the name of the library of `schema`.
 */
function fingerprintOf<S, I extends object, P, T>(
  { transform, schema, onInvalid, audit }: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S>,
): string {
  return JSON.stringify([
    source.name,
    source.selection ?? null,
    transform === undefined ? null : String(transform),
    schema === undefined ? null : schema['~standard'].vendor,
    onInvalid ?? 'keep-previous',
    isAudited(source, audit),
  ])
}

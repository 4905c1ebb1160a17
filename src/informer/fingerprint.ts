import type { ListerWatcher } from '../contract/source.js'
import { isAudited } from './informer-sources.js'
import type { InformerOptions } from './informer-types.js'
import type { CacheOption } from './source-cache.js'

/**
 * Returns the cache of the options with the fingerprint of the stored objects: the source, its selection, and the options that
 * change the stored objects. It contains the text of `transform`, and the name of the library of `schema`.
 */
export function cacheOf<S, I extends object, P, T>(
  { cache, transform, schema, onInvalid, audit }: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S>,
): CacheOption | undefined {
  if (cache === undefined) return undefined
  const fingerprint = JSON.stringify([
    source.name,
    source.selection ?? null,
    transform === undefined ? null : String(transform),
    schema === undefined ? null : schema['~standard'].vendor,
    onInvalid ?? 'keep-previous',
    isAudited(source, audit),
  ])
  return { cache, fingerprint }
}

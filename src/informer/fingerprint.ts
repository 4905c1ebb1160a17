import type { MirrorCache } from '../contract/mirror-cache.js'
import type { ListerWatcher } from '../contract/source.js'
import { isAudited } from './informer-sources.js'
import type { InformerOptions } from './informer-types.js'
import { DynamicSourceSet } from './source-set.js'

/** The cache of the options, and the fingerprint of the stored objects, which is empty for a source set. */
export function savedOptions<S, I extends object, P, T>(
  options: InformerOptions<S, I, P, T>,
  source: ListerWatcher<S> | DynamicSourceSet<S>,
): { readonly cache: MirrorCache | undefined; readonly fingerprint: string } {
  const fingerprint = source instanceof DynamicSourceSet ? '' : fingerprintOf(options, source)
  return { cache: options.cache, fingerprint }
}

/**
 * Returns the fingerprint of the stored objects: the source, its selection, and the options that change the stored objects. It
 * contains the text of `transform`, and the name of the library of `schema`.
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

import type { ListerWatcher } from '../contract/source.js'
import { isAudited } from './informer-sources.js'
import type { InformerOptions } from './informer-types.js'

/**
 * Returns the fingerprint of the stored objects: the source, its selection, and the options that change the stored objects. It
 * contains the text of `transform`, and the name of the library of `schema`.
 */
export function fingerprintOf<S, I extends object, P, T>(
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

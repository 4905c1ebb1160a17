import type { Clock } from '../contract/clock.js'
import type { ListerWatcher } from '../contract/source.js'
import { isDevelopment } from '../store/deep-freeze.js'
import { Indexer } from '../store/indexer.js'
import type { Slices } from '../util/steps.js'
import type { InformerEvents } from './informer-events.js'
import { type InformerSources, isAudited } from './informer-sources.js'
import type { InformerOptions } from './informer-types.js'
import { DynamicSourceSet } from './source-set.js'
import { preparing } from './standard-schema.js'

interface Host<S, T> {
  readonly source: DynamicSourceSet<S> | ListerWatcher<S>
  readonly clock: Clock
  readonly slices: Slices
  readonly events: InformerEvents
  /** The sources, which are created after the store. */
  sources(): InformerSources<S, T>
}

/** Creates the store of an informer. */
export function informerStore<S, I extends object, P, T>(
  options: InformerOptions<S, I, P, T>,
  { source, clock, slices, events, sources }: Host<S, T>,
): Indexer<T, I> {
  const nameOf = (part: string): string | undefined => sources().runners.get(part)?.source.name
  return new Indexer<T, I>(
    { indexes: options.indexes },
    {
      prepare: preparing(options),
      ...(options.equals === undefined ? {} : { equals: options.equals }),
      clock,
      slices,
      freeze: options.freeze ?? isDevelopment(),
      intern: options.intern,
      onInvalid: options.onInvalid,
      onReleased: (part) => sources().runners.get(part)?.reflector.relist('another source released a key'),
      remembersFiltered:
        source instanceof DynamicSourceSet ? options.audit !== false : isAudited(source, options.audit),
      sourceOf: (part) => (part === undefined ? sources().name : nameOf(part)),
      report: (error, part) => {
        const name = part === undefined ? undefined : nameOf(part)
        // Not during a step of the store: a listener would read a part of a batch.
        void Promise.resolve().then(() => events.report(error, name))
      },
    },
  )
}

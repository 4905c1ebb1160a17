import { type Clock, systemClock } from '../contract/clock.js'
import { type Random, systemRandom } from '../contract/random.js'
import { isDevelopment } from '../store/deep-freeze.js'
import { Indexer } from '../store/indexer.js'
import type { WriterOptions } from '../store/write/store-writer.js'
import { ChangeRouter } from '../subscriptions/change-router.js'
import type { Feed } from '../subscriptions/feed.js'
import type { Subscription } from '../subscriptions/subscription-types.js'
import { Latch } from '../util/latch.js'
import { InformerEvents } from './informer-events.js'
import type { InformerOptions } from './informer-types.js'
import type { RelistLimiter } from './relist-limiter.js'

interface MirroredSources {
  readonly name: string
  readonly runners: ReadonlyMap<
    string,
    { readonly source: { readonly name: string }; readonly reflector: { relist(reason: string): void } }
  >
}

/** What the parts of an informer share. It is created first, and each part gets all of it. */
export class InformerContext<T, I = unknown> {
  readonly clock: Clock
  readonly random: Random
  readonly events: InformerEvents
  readonly indexer: Indexer<T, I>
  readonly router: ChangeRouter<T>
  /** Opens when the first list of each source is in the store. */
  readonly synced: Latch = new Latch()
  /** The subscriptions that are not closed, and those whose handlers still run. */
  readonly subscriptions: Map<Feed<T>, Subscription> = new Map()
  readonly onAccessLost: 'keep' | 'clear'
  readonly #name: string | undefined
  readonly relistLimiters: RelistLimiter[] = []
  readonly stopping: AbortController = new AbortController()
  /** Set when the sources are created, before the first use. */
  sources: MirroredSources = { name: '', runners: new Map() }

  constructor(
    options: Omit<InformerOptions<unknown, I & object, never, T>, 'source' | 'schema' | 'transform'>,
    prepare: ((object: unknown, key: string) => T | undefined) | undefined,
    hooks: Pick<WriterOptions<T>, 'remembersFiltered' | 'isNumbered' | 'hasVersions'>,
  ) {
    this.clock = options.clock ?? systemClock
    this.random = options.random ?? systemRandom
    this.onAccessLost = options.onAccessLost ?? 'keep'
    this.router = new ChangeRouter(options.slices)
    this.#name = options.name
    this.events = new InformerEvents(
      this.clock,
      options.logger,
      () => this.sources.name,
      (source) => this.titleOf(source),
    )
    const nameOf = (part: string): string | undefined => this.sources.runners.get(part)?.source.name
    this.indexer = new Indexer<T, I>(
      { indexes: options.indexes },
      {
        prepare,
        ...(options.equals === undefined ? {} : { equals: options.equals }),
        clock: this.clock,
        slices: options.slices,
        freeze: options.freeze ?? isDevelopment(),
        intern: options.intern,
        onInvalid: options.onInvalid,
        onReleased: (part) => this.sources.runners.get(part)?.reflector.relist('another source released a key'),
        ...hooks,
        sourceOf: (part) => {
          const name = part === undefined ? this.sources.name : nameOf(part)
          return name === undefined ? undefined : { name, title: this.titleOf(name) }
        },
        report: (error, part) => {
          const name = part === undefined ? undefined : nameOf(part)
          // Not during a step of the store: a listener would read a part of a batch.
          void Promise.resolve().then(() => this.events.report(error, name))
        },
      },
    )
  }

  /** Names the informer of a source, or of several, in messages: its own name, if it has one, and the source. */
  titleOf(source: string): string {
    return this.#name === undefined || this.#name === source ? source : `${this.#name} (${source})`
  }

  get stopped(): AbortSignal {
    return this.stopping.signal
  }
}

import { type MemorySource, type MemorySourceOptions, memorySource } from '../../adapters/memory/index.js'
import type { ListContext, ListerWatcher, VersionPage, WatchBatch, WatchContext } from '../../src/contract/source.js'
import type { InformerOptions } from '../../src/informer/informer-types.js'
import type { VirtualClock } from '../../testing/virtual-clock.js'
import { informerOf, type World } from './informers.js'

export type Item = { readonly n: number }

/** A source that loses the events of the keys in `lost`. Its version increases all the same. */
export class Lossy implements ListerWatcher<Item> {
  readonly name = 'lossy'
  readonly memory: MemorySource<Item>
  readonly lost = new Set<string>()
  /** Keys whose events have a wrong object and the right version. */
  readonly mangled = new Set<string>()
  reads = 0
  stallMs = 0
  requestAudit: WatchContext['requestAudit']

  constructor(
    entries: Iterable<readonly [string, Item]>,
    options: Pick<MemorySourceOptions<Item>, 'heartbeatMs'> = {},
  ) {
    this.memory = memorySource<Item>({ ...options, entries })
  }

  list(context: ListContext): ReturnType<ListerWatcher<Item>['list']> {
    return this.memory.list(context)
  }

  async *watch(context: WatchContext): AsyncGenerator<WatchBatch<Item>> {
    this.requestAudit = context.requestAudit
    for await (const batch of this.memory.watch(context)) {
      const events = batch.events.filter((event) => !('key' in event && this.lost.has(event.key ?? '')))
      const isMangled = (event: (typeof events)[number]): boolean => event.type === 'put' && this.mangled.has(event.key)
      yield {
        ...batch,
        events: events.map((event) => (isMangled(event) ? { ...event, object: { n: -1 } } : event) as typeof event),
      }
    }
  }

  head(): Promise<string> {
    return this.memory.head()
  }

  hasReached(at: string, mark: string): boolean {
    return this.memory.hasReached(at, mark)
  }
}

/** How often a slow read of a `LossyVersioned` calls `alive`, in milliseconds. */
const ALIVE_MS = 20_000

/** A `Lossy` that can list keys and versions. */
export class LossyVersioned extends Lossy {
  /** Whether a read that takes `stallMs` calls `alive`. */
  isAlive = false

  async *versions(context: ListContext): AsyncGenerator<VersionPage> {
    this.reads++
    for (let waitMs = this.stallMs; waitMs > 0; waitMs -= ALIVE_MS) {
      await context.clock.sleep(Math.min(waitMs, ALIVE_MS), context.signal)
      if (this.isAlive) context.alive?.()
    }
    for await (const { events, version } of this.memory.list(context)) {
      const keys = events.flatMap((event) =>
        event.key === undefined ? [] : [{ key: event.key, version: event.version ?? 'none that is known' }],
      )
      yield { keys, ...(version === undefined ? {} : { version }) }
    }
  }
}

export const three: readonly (readonly [string, Item])[] = Object.entries({ a: { n: 1 }, b: { n: 2 }, c: { n: 3 } })

/** An informer of the source that is synced, and whose watch is open. */
export async function synced<S extends ListerWatcher<Item>>(
  source: S,
  options: Pick<InformerOptions<Item, object, Item>, 'audit' | 'transform'> & { readonly clock?: VirtualClock } = {},
): Promise<World<Item, object, S>> {
  const world = informerOf<Item, object, S>(source, options)
  await world.informer.start().synced()
  await world.clock.advance(10)
  return world
}

import type {
  ListContext,
  ListPage,
  SourceContext,
  VersionPage,
  WatchBatch,
  WatchContext,
  WatchEvent,
} from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type { ListerWatcherHarness } from '../../testing/index.js'
import { type Item, type MemorySubject, memorySubject } from './memory-harness.js'

/** A correct source. */
type Memory = MemorySubject['source']
export type Read<C, P> = (memory: Memory, context: C) => AsyncIterable<P>
export type Lists = Read<ListContext, ListPage<Item>>
export type Watches = Read<WatchContext, WatchBatch<Item>>

/** The defects of a source, or of its harness. All other parts are correct. */
interface Flaw {
  readonly list?: Lists
  readonly watch?: Watches
  readonly versions?: Read<ListContext, VersionPage>
  readonly head?: (memory: Memory, context: SourceContext) => Promise<Version>
  readonly hasReached?: Memory['hasReached']
  /** The pages that take the place of a page. */
  readonly pages?: (page: ListPage<Item>, context: ListContext) => readonly ListPage<Item>[]
  /** The batches that take the place of a batch. `number` counts those of one watch from 0. */
  readonly batches?: (batch: WatchBatch<Item>, number: number, context: WatchContext) => readonly WatchBatch<Item>[]
  /** The event that takes the place of an event of a list or a watch; undefined removes it. */
  readonly events?: (event: WatchEvent<Item>) => WatchEvent<Item> | undefined
  readonly subject?: Partial<Omit<MemorySubject, 'source' | 'memory'>>
  readonly nameOf?: () => string
}

/** A source that violates the contract in one way, and the names of the cases that must fail for it. */
export interface Broken extends Flaw {
  readonly name: string
  readonly failedCases: readonly string[]
  /** Their message. A case that fails with another message is wrong. */
  readonly because: RegExp
  /** A flaw with a state of its own for each case. */
  flaw?(subject: MemorySubject): Flaw
}

export const lists: Lists = (memory, context) => memory.list(context)
export const watches: Watches = (memory, context) => memory.watch(context)
export const versions: Read<ListContext, VersionPage> = (memory, context) => memory.versions(context)

export function brokenHarness(broken: Broken): ListerWatcherHarness<Item> {
  return {
    timeoutMs: 500,
    create(options) {
      const subject = memorySubject(options)
      const { source: memory } = subject
      const wrong: Flaw = { ...broken, ...broken.flaw?.(subject) }
      const [list, watch] = [wrong.list ?? listsOf(wrong), wrong.watch ?? watchesOf(wrong)]
      return {
        connections: () => 0,
        ...subject,
        ...wrong.subject,
        source: {
          get name() {
            return wrong.nameOf?.() ?? memory.name
          },
          heartbeatMs: memory.heartbeatMs ?? 0,
          list: (context) => list(memory, context),
          watch: (context) => watch(memory, context),
          ...(wrong.versions && { versions: (context) => (wrong.versions ?? versions)(memory, context) }),
          head: (context) => (wrong.head ?? (() => memory.head()))(memory, context),
          hasReached: wrong.hasReached ?? memory.hasReached.bind(memory),
        },
      }
    },
  }
}

function listsOf({ pages = (page) => [page], events = (event) => event }: Flaw): Lists {
  return async function* (memory, context) {
    for await (const given of memory.list(context))
      for (const page of pages(given, context)) yield { ...page, events: changed(page.events, events) }
  }
}

function watchesOf({ batches = (batch) => [batch], events = (event) => event }: Flaw): Watches {
  return async function* (memory, context) {
    let number = 0
    for await (const given of memory.watch(context))
      for (const batch of batches(given, number++, context)) yield { ...batch, events: changed(batch.events, events) }
  }
}

function changed<E extends WatchEvent<Item>>(events: readonly E[], change: NonNullable<Flaw['events']>): E[] {
  return events.map((event) => change(event) as E | undefined).filter((event) => event !== undefined)
}

/** Watches from the current version, whatever is requested. */
export async function* fromNow(...[memory, context]: Parameters<Watches>): ReturnType<Watches> {
  yield* memory.watch({ ...context, after: await memory.head() })
}

export async function allOf<V>(iterable: AsyncIterable<V>): Promise<V[]> {
  const all: V[] = []
  for await (const each of iterable) all.push(each)
  return all
}

/** The version `by` transactions later in the same epoch, but never before the first. */
export function shifted(version: string, by: number): string {
  const parts = version.split('.')
  return [...parts.slice(0, -1), Math.max(0, sequenceOf(version) + by)].join('.')
}

export function sequenceOf(version: string): number {
  return Number(version.split('.').at(-1))
}

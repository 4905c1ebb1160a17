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
import type { ListerWatcherHarness, MemorySource } from '../../testing/index.js'
import { type Item, type MemorySubject, memorySubject } from './memory-harness.js'

export type Lists = (context: ListContext) => AsyncIterable<ListPage<Item>>
export type Watches = (context: WatchContext) => AsyncIterable<WatchBatch<Item>>

/** The broken parts of a source or its harness. They replace the correct ones. */
export interface Flaw {
  readonly list?: Lists
  readonly watch?: Watches
  readonly head?: (context: SourceContext) => Promise<Version>
  readonly versions?: (context: ListContext) => AsyncIterable<VersionPage>
  readonly hasReached?: MemorySource<Item>['hasReached']
  readonly subject?: Partial<Omit<MemorySubject, 'source' | 'memory'>>
  readonly name?: () => string
}

/** A source that violates the contract in one way, and the names of the cases that must fail for it. */
export interface Broken {
  readonly name: string
  readonly failedCases: readonly string[]
  /** Their message. A case that fails with another message is wrong. */
  readonly because: RegExp
  flaw(memory: MemorySource<Item>, subject: MemorySubject): Flaw
}

export function brokenHarness({ flaw }: Broken): ListerWatcherHarness<Item> {
  return {
    timeoutMs: 500,
    create(options) {
      const subject = memorySubject(options)
      const { memory } = subject
      const wrong = flaw(memory, subject)
      return {
        connections: () => 0,
        ...subject,
        ...wrong.subject,
        source: {
          get name() {
            return wrong.name?.() ?? memory.name
          },
          heartbeatMs: memory.heartbeatMs ?? 0,
          list: (context) => (wrong.list ?? memory.list.bind(memory))(context),
          watch: (context) => (wrong.watch ?? memory.watch.bind(memory))(context),
          ...(wrong.versions === undefined ? {} : { versions: wrong.versions }),
          head: (context) => (wrong.head ?? memory.head.bind(memory))(context),
          hasReached: (at, mark) => (wrong.hasReached ?? memory.hasReached.bind(memory))(at, mark),
        },
      }
    },
  }
}

/** The pages of the correct source, each replaced by any number of pages. */
export function pages(
  memory: MemorySource<Item>,
  change: (page: ListPage<Item>, context: ListContext) => readonly ListPage<Item>[],
): Lists {
  return async function* (context) {
    for await (const page of memory.list(context)) yield* change(page, context)
  }
}

/** The batches of the correct source, each replaced by any number of batches. `number` counts those of one watch from 0. */
export function batches(
  memory: MemorySource<Item>,
  change: (batch: WatchBatch<Item>, number: number, context: WatchContext) => readonly WatchBatch<Item>[],
): Watches {
  return async function* (context) {
    let number = 0
    for await (const batch of memory.watch(context)) yield* change(batch, number++, context)
  }
}

/** The events of lists and watches, each replaced or removed. */
export function events(
  memory: MemorySource<Item>,
  change: (event: WatchEvent<Item>) => WatchEvent<Item> | undefined,
): Required<Pick<Flaw, 'list' | 'watch'>> {
  const all = <E extends WatchEvent<Item>>(given: readonly E[]): E[] =>
    given.map((event) => change(event) as E | undefined).filter((event) => event !== undefined)
  return {
    list: pages(memory, (page) => [{ ...page, events: all(page.events) }]),
    watch: batches(memory, (batch) => [{ ...batch, events: all(batch.events) }]),
  }
}

/** Watches from the current version, whatever is requested. */
export function fromNow(memory: { watch: Watches; head(): Promise<string> }): Watches {
  return async function* (context) {
    yield* memory.watch({ ...context, after: await memory.head() })
  }
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

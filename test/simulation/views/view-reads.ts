import type { Informer } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import { type IndexesOf, RANKS, TAGS, TENANTS } from '../workload/declared-indexes.js'

export type Reader = Informer<Item, IndexesOf>

/** What a call asks for. It follows from what the call has read before. */
export interface Place {
  readonly key: string
  readonly tenant: string
  readonly tag: string
  readonly rank: number
}

export interface Read {
  /** Returns what the function uses. */
  ask(from: Reader, at: Place): readonly unknown[]
  /** Returns what decides whether the function is called again. Default: what `ask` returns. */
  depends?(from: Reader, at: Place): readonly unknown[]
}

export function placeOf(digest: number, keys: readonly string[]): Place {
  return {
    key: keys[digest % keys.length] ?? '',
    tenant: TENANTS[(digest >>> 4) % TENANTS.length] ?? '',
    tag: TAGS[(digest >>> 8) % TAGS.length] ?? '',
    rank: (digest >>> 12) % RANKS,
  }
}

/** One of each kind of dependency. */
export const READS: readonly Read[] = [
  { ask: (from, { key }) => [from.get(key)] },
  { ask: (from, { key }) => [from.has(key)], depends: (from, { key }) => [from.get(key)] },
  { ask: ({ by }, { tenant }) => by.tenant(tenant) },
  { ask: ({ by }, { tag }) => objectsIn(by.tag.entries(tag)) },
  { ask: ({ by }, { rank }) => by.since(new Date(rank)) },
  {
    ask: ({ by }, { tag }) => [by.tag.count(tag)],
    depends: ({ by }, { tag }) => keysIn(by.tag.entries(tag)),
  },
  { ask: ({ by }) => by.rank() },
  { ask: ({ by }, { rank }) => by.rank({ gte: rank, lt: rank + 2, limit: 2 }) },
  {
    ask: ({ by }, { rank }) => [2, 1].flatMap((limit) => by.rank({ lte: rank, reverse: true, limit })),
  },
  { ask: ({ by }, { rank }) => objectsIn(by.rank.entriesIn({ gt: rank })) },
  { ask: ({ by }, { rank }) => objectsIn(by.rank.entries(rank)) },
  {
    ask: ({ by }, { rank }) => [by.rank.count(rank)],
    depends: ({ by }, { rank }) => keysIn(by.rank.entries(rank)),
  },
  { ask: ({ by }, { tenant }) => by.latest([tenant]) },
  { ask: ({ by }, { tenant }) => by.latest([tenant], { reverse: true, limit: 1 }) },
  { ask: ({ by }, { tenant, rank }) => by.latest([tenant], { gte: rank, limit: 2 }) },
  { ask: ({ by }, { tenant, rank }) => objectsIn(by.latest.entries([tenant, rank])) },
  {
    ask: ({ by }, { tenant }) => [by.latest.count([tenant])],
    depends: ({ by }, { tenant }) => keysIn(by.latest.entries([tenant])),
  },
]

function objectsIn(entries: Iterable<readonly [string, Item]>): readonly Item[] {
  return Array.from(entries, ([, item]) => item)
}

function keysIn(entries: Iterable<readonly [string, Item]>): readonly string[] {
  return Array.from(entries, ([key]) => key)
}

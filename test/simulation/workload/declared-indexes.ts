import type { Compound, Equal, IndexBuilder, Ordered, StoreView } from '../../../src/index.js'
import { SortedIndex } from '../../../src/store/indexes/sorted-index.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'

export const TENANTS = ['t0', 't1', 't2']
export const TAGS = ['x', 'y', 'z']
export const RANKS = 4

export interface IndexesOf {
  readonly tenant: Equal<Item, string>
  readonly tag: Equal<Item, string>
  readonly rank: Ordered<Item, number | bigint>
  readonly latest: Compound<Item, readonly [string, number | bigint, Date]>
  readonly since: Equal<Item, Date>
}

/**
 * The error that the sorted index throws after it has stored an object: an index function cannot undo a step of the
 * store.
 */
let defect: Error | undefined
/** Whether the index is written. Saved values are compared without that. */
let isSetting = false
const { set } = SortedIndex.prototype
SortedIndex.prototype.set = function (...args) {
  isSetting = true
  set.apply(this, args)
  isSetting = false
  const thrown = defect
  defect = undefined
  if (thrown !== undefined) throw thrown
}

/** `defectAt` is called with each object that is indexed. An error that it returns is thrown inside the step of the store. */
export function indexesOf(ix: IndexBuilder<Item>, defectAt?: (item: Item) => Error | undefined): IndexesOf {
  return {
    tenant: ix.equal((item) => item.tenant),
    tag: ix.multi((item) => item.tags),
    rank: ix.ordered(mixed),
    latest: ix.compound((item) => {
      if (isSetting) defect = defectAt?.(item)
      return [item.tenant, mixed(item), ownDate(item.rank)] as const
    }),
    since: ix.equal((item) => ownDate(item.rank)),
  }
}

/** The same value now as a number, now as a bigint. */
function mixed({ rank, n }: Item): number | bigint {
  return n % 2 === 0 ? rank : BigInt(rank)
}

const dates = Array.from({ length: RANKS }, () => new Date(0))

/** A Date that its owner changes again and again while an index has the object. */
export function ownDate(rank: number): Date {
  const date = dates[rank] ?? new Date(0)
  for (const each of dates) each.setTime(-1)
  date.setTime(rank)
  return date
}

/** Every index returns the same objects as a walk over all entries (I9). */
export function checkIndexes(scenario: Scenario, view: Pick<StoreView<Item, IndexesOf>, 'by' | 'entries'>): void {
  const { by } = view
  const items = Array.from(view.entries(), ([, item]) => item)
  const expect = (index: string, found: readonly Item[], right: readonly Item[]): void => {
    const isSame = found.length === right.length && found.every((item) => right.includes(item))
    if (!isSame) scenario.violate('I9', `the index ${index} has n${numbers(found)}, the store n${numbers(right)}`)
  }
  for (const tenant of TENANTS) {
    const right = items.filter((item) => item.tenant === tenant)
    expect(`tenant ${tenant}`, by.tenant(tenant), right)
    expect(`latest ${tenant}`, by.latest([tenant]), right)
    if (by.tenant.count(tenant) !== right.length) scenario.violate('I9', `the count of tenant ${tenant} is wrong`)
  }
  const expectValues = (index: string, values: Iterable<unknown>, right: readonly unknown[]): void => {
    const isSame = [...values].map(String).sort().join() === [...new Set(right.map(String))].sort().join()
    if (!isSame) scenario.violate('I9', `the values of ${index} are ${[...values]}, of the store ${right}`)
  }
  expectValues(
    'tenant',
    by.tenant.values(),
    Array.from(items, ({ tenant }) => tenant),
  )
  expectValues(
    'rank',
    by.rank.values(),
    Array.from(items, ({ rank }) => rank),
  )
  for (const tag of TAGS) {
    const right = items.filter((item) => item.tags.includes(tag))
    expect(`tag ${tag}`, by.tag(tag), right)
    expect(`entries of tag ${tag}`, objectsOf(by.tag.entries(tag)), right)
  }
  for (let rank = 0; rank < RANKS; rank++) {
    const right = items.filter((item) => item.rank === rank)
    expect(`since ${rank}`, by.since(new Date(rank)), right)
    expect(`entries since ${rank}`, objectsOf(by.since.entries(new Date(rank))), right)
    expect(`rank ${rank}`, by.rank({ gte: rank, lte: rank }), right)
    expect(`entries of rank ${rank}`, objectsOf(by.rank.entriesIn({ gte: rank, lte: rank })), right)
    if (by.rank.count(rank) !== right.length) scenario.violate('I9', `the count of rank ${rank} is wrong`)
  }
  const ranked = by.rank()
  expect('rank', ranked, items)
  if (ranked.some((item, at) => item.rank < (ranked[at - 1]?.rank ?? 0)))
    scenario.violate('I9', 'the index rank is not in order')
}

function objectsOf(entries: Iterable<readonly [string, Item]>): readonly Item[] {
  return Array.from(entries, ([, item]) => item)
}

function numbers(items: readonly Item[]): string {
  return `[${items.map(({ n }) => n).join(' ')}]`
}

import type { Compound, Equal, IndexBuilder, Ordered } from '../../src/index-types.js'
import type { StoreView } from '../../src/views.js'
import type { Item } from './history.js'
import type { Scene } from './stage.js'

export const TENANTS = ['t0', 't1', 't2']
export const TAGS = ['x', 'y', 'z']
export const RANKS = 4

export interface IndexesOf {
  readonly tenant: Equal<Item, string>
  readonly tag: Equal<Item, string>
  readonly rank: Ordered<Item, number>
  readonly latest: Compound<Item, readonly [string, number]>
}

export function indexesOf(ix: IndexBuilder<Item>): IndexesOf {
  return {
    tenant: ix.equal((item) => item.tenant),
    tag: ix.multi((item) => item.tags),
    rank: ix.ordered((item) => item.rank),
    latest: ix.compound((item) => [item.tenant, item.rank] as const),
  }
}

/** Every index says what a walk over all entries says (I9). */
export function checkIndexes(stage: Scene, view: Pick<StoreView<Item, IndexesOf>, 'by' | 'entries'>): void {
  const { by } = view
  const items = Array.from(view.entries(), ({ object }) => object)
  const expect = (index: string, found: readonly Item[], right: readonly Item[]): void => {
    const isSame = found.length === right.length && found.every((item) => right.includes(item))
    if (!isSame) stage.violate('I9', `the index ${index} has n${numbers(found)}, the store n${numbers(right)}`)
  }
  for (const tenant of TENANTS) {
    const right = items.filter((item) => item.tenant === tenant)
    expect(`tenant ${tenant}`, by.tenant(tenant), right)
    expect(`latest ${tenant}`, by.latest([tenant]), right)
    if (by.tenant.count(tenant) !== right.length) stage.violate('I9', `the count of tenant ${tenant} is wrong`)
  }
  for (const tag of TAGS)
    expect(
      `tag ${tag}`,
      by.tag(tag),
      items.filter((item) => item.tags.includes(tag)),
    )
  const ranked = by.rank()
  expect('rank', ranked, items)
  if (ranked.some((item, at) => item.rank < (ranked[at - 1]?.rank ?? 0)))
    stage.violate('I9', 'the index rank is not in order')
}

function numbers(items: readonly Item[]): string {
  return `[${items.map(({ n }) => n).join(' ')}]`
}

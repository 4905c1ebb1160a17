import type { SubscribeOptions } from '../../src/scope.js'
import type { IsIn } from './follower.js'
import type { Item } from './history.js'
import { type IndexesOf, RANKS, TAGS, TENANTS } from './indexes.js'
import type { Scene } from './stage.js'

export interface DrawnScope {
  readonly scope: SubscribeOptions<Item, IndexesOf>
  readonly isIn: IsIn
}

/** Which objects somebody wants: half of the time all of them. */
export function drawScope({ draws, settings }: Scene): DrawnScope {
  const tenant = draws.pick('scope', TENANTS)
  const tag = draws.pick('scope', TAGS)
  const key = draws.pick('scope', settings.keys)
  const rank = draws.below('scope', RANKS)
  switch (draws.below('scope', 10)) {
    case 0:
      return { scope: { key }, isIn: (_item, of) => of === key }
    case 1:
      return { scope: { where: { tenant } }, isIn: (item) => item.tenant === tenant }
    case 2:
      return { scope: { where: { tag } }, isIn: (item) => item.tags.includes(tag) }
    case 3:
      return {
        scope: { where: { latest: [tenant, rank] } },
        isIn: (item) => item.tenant === tenant && item.rank === rank,
      }
    case 4:
      return { scope: { filter: (item) => item.rank > 1 }, isIn: (item) => item.rank > 1 }
    default:
      return { scope: {}, isIn: () => true }
  }
}

import type { SubscribeOptions } from '../../../src/subscriptions/subscription-types.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import { type IndexesOf, RANKS, TAGS, TENANTS } from './declared-indexes.js'
import type { IsIn } from './follower.js'

export interface DrawnScope {
  readonly scope: SubscribeOptions<Item, IndexesOf>
  readonly isIn: IsIn
  /** Changes its Dates, as their owner may after the call. */
  readonly spoil: () => void
}

export interface Wanted {
  readonly key?: string
  readonly tenant?: string
  readonly tag?: string
  readonly latest?: readonly [tenant: string, rank: number]
  readonly rank?: number
  readonly since?: number
  readonly above?: number
}

/** A scope: half of the time all objects; sometimes the intersection of two scopes. */
export function drawScope(scenario: Scenario): Wanted {
  const { decisions } = scenario
  const wanted = drawWanted(scenario, 'scope')
  const other = decisions.chance('two scopes', 0.25) ? drawWanted(scenario, 'other scope') : {}
  return { ...other, ...wanted }
}

function drawWanted({ decisions, settings }: Scenario, label: string): Wanted {
  const tenant = decisions.pick(label, TENANTS)
  const tag = decisions.pick(label, TAGS)
  const key = decisions.pick(label, settings.keys)
  const rank = decisions.below(label, RANKS)
  const all: readonly Wanted[] = [
    { key },
    { tenant },
    { tag },
    { latest: [tenant, rank] },
    { above: 1 },
    { rank },
    { since: rank },
  ]
  return all[decisions.below(label, 10)] ?? {}
}

export function scopeOf({ key, tenant, tag, latest, rank, since, above }: Wanted): DrawnScope {
  const dates: Date[] = []
  const dateOf = (of: number): Date => {
    const date = new Date(of)
    dates.push(date)
    return date
  }
  const where = {
    ...(tenant !== undefined && { tenant }),
    ...(tag !== undefined && { tag }),
    ...(latest !== undefined && { latest: [latest[0], latest[1], dateOf(latest[1])] as const }),
    ...(rank !== undefined && { rank: BigInt(rank) }),
    ...(since !== undefined && { since: dateOf(since) }),
  }
  const scope: SubscribeOptions<Item, IndexesOf> = {
    ...(key !== undefined && { key }),
    ...(Object.keys(where).length > 0 && { where }),
    ...(above !== undefined && { filter: (item) => item.rank > above }),
  }
  const isIn: IsIn = (item, of) =>
    (key === undefined || of === key) &&
    (tenant === undefined || item.tenant === tenant) &&
    (tag === undefined || item.tags.includes(tag)) &&
    (latest === undefined || (item.tenant === latest[0] && item.rank === latest[1])) &&
    (rank === undefined || item.rank === rank) &&
    (since === undefined || item.rank === since) &&
    (above === undefined || item.rank > above)
  const spoil = (): void => {
    for (const date of dates) date.setTime(-1)
  }
  return { scope, isIn, spoil }
}

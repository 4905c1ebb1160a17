import type { RandomDecisions } from './random-decisions.js'

/** The actions of a schedule besides faults, with their approximate numbers. */
export const actions = {
  put: 12,
  'put again': 1,
  delete: 6,
  transaction: 2,
  recreate: 1.5,
  storm: 0.4,
  vanish: 0.8,
  corrupt: 0.8,
  compact: 2,
  restore: 0.9,
  'begin snapshot': 0.5,
  'end snapshot': 0.5,
  subscribe: 1,
  close: 0.5,
  reconcile: 0.3,
  enqueue: 0.3,
  'drain controller': 0.3,
  'drain follower': 0.4,
  'wait of a follower': 0.4,
  'wait for head': 1,
  fresh: 0.4,
  until: 0.5,
  relist: 0.4,
  'add index': 0.2,
  suspend: 0.15,
  restart: 0.15,
  'clock jump': 0.15,
  'flip field': 1,
  misuse: 0.4,
  'enqueue many': 0.1,
  'restore twice': 0.15,
  'give up': 0.3,
} as const satisfies Readonly<Record<string, number>>

export type ActionKind = keyof typeof actions

/** Whether these are functions of a kind, which may be of another one. */
export function isKeyOf<K extends string>(functions: Readonly<Record<K, unknown>>, kind: string): kind is K {
  return kind in functions
}

export interface Action<K extends string = ActionKind> {
  readonly kind: K
  readonly at: number
  /** Draws of its own, so that taking another action back changes nothing here. */
  readonly label: string
}

/** How many actions of a kind there are at most. */
const MOST = 30
/** The part of schedules in which a usual action never happens. */
const NEVER = 0.3

interface Kind<K extends string> {
  readonly kind: K
  readonly mean: number
  readonly isWrite: boolean
  /** The label that decides whether and how often. */
  readonly often: string
  readonly names: readonly string[]
}

export function kindOf<K extends string>(kind: K, mean: number): Kind<K> {
  const isWrite = kind === 'put' || kind === 'delete'
  const names = Array.from({ length: MOST }, (_, nth) => `${kind}#${nth}`)
  return { kind, mean, isWrite, often: `how often ${kind}`, names }
}

export function kindsOf<K extends string>(means: Readonly<Record<K, number>>): readonly Kind<K>[] {
  return (Object.entries(means) as [K, number][]).map(([kind, mean]) => kindOf(kind, mean))
}

const ofContent = ['put', 'put again', 'delete', 'transaction', 'recreate', 'corrupt'] as const
const ofHistory = ['give up', 'compact', 'restore'] as const
/** The actions of writers of one of several sources, or of collections. */
export const writes = [...ofContent, ...ofHistory].map((kind) => kindOf(kind, actions[kind]))

/**
 * The times of all actions. They come in bursts, because faults that coincide reveal more. Each kind is drawn by
 * itself, so that a new kind moves no other.
 */
export function planOf<K extends string>(
  decisions: RandomDecisions,
  lengthMs: number,
  kinds: readonly Kind<K>[],
): readonly Action<K>[] {
  const bursts = Array.from({ length: 2 + decisions.below('bursts', 5) }, () => decisions.next('bursts') * lengthMs)
  const spread = decisions.pick('spread', [2, 20, 200, lengthMs])
  const plan: Action<K>[] = []
  for (const { kind, mean, isWrite, often, names } of kinds) {
    const stream = decisions.of(often)
    if (!isWrite && stream.next() < NEVER) continue
    const many = 2 * mean * stream.next() + stream.next()
    for (const label of names.slice(0, many)) {
      const own = decisions.of(label)
      const offset = spread * own.next() ** 2
      const burst = bursts[Math.floor(own.next() * bursts.length)] ?? 0
      if (decisions.take(label)) plan.push({ kind, at: Math.min(burst + offset, lengthMs), label })
    }
  }
  return plan.sort((a, b) => a.at - b.at)
}

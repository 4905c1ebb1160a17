import type { RandomDecisions, Stream } from '../workload/random-decisions.js'

/**
 * The kinds of faults, with their rates. `contract`: the source keeps its promises, and every invariant holds.
 * `breach`: it breaks a promise, and only a new read of the source repairs the store.
 */
export const faults = {
  'refuse-list': { of: 'contract', rate: 0.15 },
  'throw-at-list': { of: 'contract', rate: 0.05 },
  'break-list': { of: 'contract', rate: 0.12 },
  'stall-list': { of: 'contract', rate: 0.05 },
  'expire-page': { of: 'contract', rate: 0.06 },
  'stale-list': { of: 'contract', rate: 0.25 },
  'moving-list': { of: 'contract', rate: 0.5 },
  'refuse-for-good': { of: 'contract', rate: 0.04 },
  'refuse-watch-for-good': { of: 'contract', rate: 0.04 },
  'refuse-watch': { of: 'contract', rate: 0.12 },
  'break-watch': { of: 'contract', rate: 0.06 },
  'end-watch': { of: 'contract', rate: 0.04 },
  'break-after-bookmark': { of: 'contract', rate: 0.08 },
  'half-open': { of: 'contract', rate: 0.03 },
  'expire-watch': { of: 'contract', rate: 0.1 },
  'expire-live': { of: 'contract', rate: 0.04 },
  'delete-of-nothing': { of: 'contract', rate: 0.1 },
  'delete-again': { of: 'contract', rate: 0.3 },
  repeat: { of: 'contract', rate: 0.1 },
  'repeat-older': { of: 'contract', rate: 0.3 },
  'repeat-batch': { of: 'contract', rate: 0.15 },
  'write-in-gap': { of: 'contract', rate: 0.4 },
  'slow-source': { of: 'contract', rate: 0.1 },
  'merge-transactions': { of: 'contract', rate: 0.3 },
  'fold-transactions': { of: 'contract', rate: 0.3 },
  'forget-head': { of: 'contract', rate: 0.3 },
  'head-hangs': { of: 'contract', rate: 0.15 },
  warns: { of: 'contract', rate: 0.1 },
  'handler-throws': { of: 'contract', rate: 0.06 },
  'handler-rejects': { of: 'contract', rate: 0.06 },
  'handler-slow': { of: 'contract', rate: 0.3 },
  'handler-stuck': { of: 'contract', rate: 0.03 },
  'pile-up': { of: 'contract', rate: 0.6 },
  'vanish-meanwhile': { of: 'contract', rate: 0.3 },
  'back-in-run': { of: 'contract', rate: 0.3 },
  'handler-hangs-for-ever': { of: 'contract', rate: 0.01 },
  'handler-subscribes': { of: 'contract', rate: 0.02 },
  'handler-closes-itself': { of: 'contract', rate: 0.02 },
  'handler-closes-another': { of: 'contract', rate: 0.02 },
  'handler-closes-any': { of: 'contract', rate: 0.01 },
  'run-closes-any': { of: 'contract', rate: 0.03 },
  'write-closes-any': { of: 'contract', rate: 0.01 },
  'reads-after-overflow': { of: 'contract', rate: 0.4 },
  'handler-adds-an-index': { of: 'contract', rate: 0.02 },
  'handler-relists': { of: 'contract', rate: 0.02 },
  'handler-stops': { of: 'contract', rate: 0.004 },
  doubt: { of: 'contract', rate: 0.12 },
  'expire-in-audit': { of: 'contract', rate: 0.6 },
  'break-audit': { of: 'contract', rate: 0.3 },
  'keyless-in-audit': { of: 'contract', rate: 0.3 },
  'unknown-event': { of: 'contract', rate: 0.03 },
  'poll-again': { of: 'contract', rate: 0.4 },
  'keyless-in-poll': { of: 'contract', rate: 0.3 },
  'keyless-in-list': { of: 'contract', rate: 0.15 },
  'earlier-in-list': { of: 'contract', rate: 0.3 },
  'keyless-event': { of: 'contract', rate: 0.03 },
  'malformed-event': { of: 'contract', rate: 0.03 },
  'step-throws': { of: 'contract', rate: 0.04 },
  reorder: { of: 'breach', rate: 0.12 },
  'late-commit': { of: 'breach', rate: 0.12 },
  'lose-event': { of: 'breach', rate: 0.1 },
  'lose-delete': { of: 'breach', rate: 0.5 },
  'lie-in-bookmark': { of: 'breach', rate: 0.1 },
  'lie-in-list': { of: 'breach', rate: 0.2 },
} as const satisfies Readonly<Record<string, Fault>>

export type Fault = { readonly of: 'contract' | 'breach'; readonly rate: number }
export type FaultKind = keyof typeof faults

export function kindOf(decision: string): string {
  const at = decision.search(/[#@]/)
  return at < 0 ? decision : decision.slice(0, at)
}

/** One kind of fault in one schedule. */
type Rate = { readonly probability: number; readonly stream: Stream }

const kinds = Object.entries(faults) as [FaultKind, Fault][]

/** The probability of each fault in one schedule: half of the kinds never happen, the others more or less often. */
export class FaultMix {
  readonly #decisions: RandomDecisions
  readonly #rates = new Map<FaultKind, Rate>()

  constructor(decisions: RandomDecisions, isBreach: boolean) {
    this.#decisions = decisions
    for (const [kind, { of, rate }] of kinds) {
      if (of === 'breach' && !isBreach) continue
      const stream = decisions.of(kind)
      const factor = stream.next() * 4 - 2 // Off in half of the schedules.
      if (factor > 0) this.#rates.set(kind, { probability: Math.min(rate * (factor + 0.3), 0.6), stream })
    }
  }

  exclude(...excluded: readonly FaultKind[]): void {
    for (const kind of excluded) this.#rates.delete(kind)
  }

  /**
   * Whether this fault strikes. With `occasion`, the result does not depend on earlier decisions. A decision that the
   * shrinker removed never strikes.
   */
  strikes(kind: FaultKind, occasion?: number): boolean {
    const rate = this.#rates.get(kind)
    if (rate === undefined || this.#decisions.isQuiet) return false
    const { stream, probability } = rate
    if (occasion !== undefined) return stream.at(occasion) < probability && this.#decisions.take(`${kind}@${occasion}`)
    return stream.next() < probability && this.#decisions.take(`${kind}#${stream.drawn}`)
  }
}

/** `contract`: faults that a correct source and its server may show. `breach`: promises that the source breaks. */
export type FaultClass = Fault['of']

export const classes: readonly FaultClass[] = ['contract', 'breach']

/** Planned faults of the environment: servers forget, fail over and hold undecodable objects; machines sleep. */
const ENVIRONMENT_FAULTS: Readonly<Record<string, FaultClass>> = {
  corrupt: 'contract',
  compact: 'contract',
  restore: 'contract',
  suspend: 'contract',
  'clock jump': 'contract',
  'expire all': 'contract',
  flips: 'breach',
}

const classOfKind = new Map([
  ...Object.entries(ENVIRONMENT_FAULTS),
  ...Object.entries(faults).map(([kind, { of }]): [string, FaultClass] => [kind, of]),
])

/** The class of fault of a kind of decision; undefined for the actions of writers and users. */
export function classOf(kind: string): FaultClass | undefined {
  return classOfKind.get(kind)
}

import { kindOf } from './faults.js'
import { type Mark, marksOf } from './marks.js'
import type { Kind, Outcome } from './schedule.js'
import type { Invariant } from './stage.js'

export interface Failure {
  readonly kind: Kind
  readonly seed: number
  readonly invariant: Invariant
  readonly message: string
}

/** What many schedules came to; it can be sent to another thread, and added up. */
export interface Tally {
  schedules: number
  /** How many of them were of sources that break their promises. */
  breaches: number
  steps: number
  virtualMs: number
  /** Made of all traces, in any order: the same on every machine and every version of Node. */
  trace: number
  maxHealMs: number
  /** How often each decision was taken, by kind. */
  readonly faults: Record<string, number>
  readonly marks: Record<string, number>
  readonly failures: Failure[]
}

export function emptyTally(): Tally {
  return {
    schedules: 0,
    breaches: 0,
    steps: 0,
    virtualMs: 0,
    trace: 0,
    maxHealMs: 0,
    faults: {},
    marks: {},
    failures: [],
  }
}

export function count(tally: Tally, outcome: Outcome): void {
  tally.schedules++
  if (outcome.isBreach) tally.breaches++
  tally.steps += outcome.steps
  tally.virtualMs += outcome.virtualMs
  tally.trace = (tally.trace + outcome.trace) >>> 0
  tally.maxHealMs = Math.max(tally.maxHealMs, outcome.healMs)
  for (const decision of outcome.taken) bump(tally.faults, kindOf(decision), 1)
  for (const mark of outcome.marks) bump(tally.marks, mark, 1)
  const { violation, seed, kind } = outcome
  if (violation === undefined) return
  tally.failures.push({ kind, seed, invariant: violation.invariant, message: violation.message })
}

export function add(to: Tally, from: Tally): void {
  to.schedules += from.schedules
  to.breaches += from.breaches
  to.steps += from.steps
  to.virtualMs += from.virtualMs
  to.trace = (to.trace + from.trace) >>> 0
  to.maxHealMs = Math.max(to.maxHealMs, from.maxHealMs)
  for (const [kind, times] of Object.entries(from.faults)) bump(to.faults, kind, times)
  for (const [mark, times] of Object.entries(from.marks)) bump(to.marks, mark, times)
  to.failures.push(...from.failures)
}

/** Interesting states that were never reached. */
export function missing({ marks: reached }: Tally, kind: Kind = 'one'): readonly Mark[] {
  return marksOf[kind].filter((mark) => reached[mark] === undefined)
}

function bump(counts: Record<string, number>, name: string, by: number): void {
  counts[name] = (counts[name] ?? 0) + by
}

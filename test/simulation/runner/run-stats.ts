import { classes, classOf, type FaultClass, kindOf } from '../backend/fault-kinds.js'
import type { Invariant } from '../system/scenario.js'
import type { Kind, Outcome } from './schedule.js'

export interface Failure {
  readonly kind: Kind
  readonly seed: number
  readonly isBreach: boolean
  readonly invariant: Invariant
  readonly message: string
}

/** The statistics of schedules whose sources keep their promises, or of those with a breach. */
export type FaultClassStats = { schedules: number; steps: number; failures: number }

/** The statistics of many schedules; can be sent to another process, and added up. */
export interface RunStats {
  schedules: number
  steps: number
  virtualMs: number
  /** Made of all traces, in any order: the same on every machine and every version of Node. */
  trace: number
  maxHealMs: number
  readonly classes: Readonly<Record<FaultClass, FaultClassStats>>
  /** The number of faults of each kind. */
  readonly faults: Readonly<Record<FaultClass, Record<string, number>>>
  readonly actions: Record<string, number>
  readonly marks: Record<string, number>
  readonly failures: Failure[]
}

export function emptyStats(): RunStats {
  return {
    schedules: 0,
    steps: 0,
    virtualMs: 0,
    trace: 0,
    maxHealMs: 0,
    classes: { contract: { schedules: 0, steps: 0, failures: 0 }, breach: { schedules: 0, steps: 0, failures: 0 } },
    faults: { contract: {}, breach: {} },
    actions: {},
    marks: {},
    failures: [],
  }
}

export function count(stats: RunStats, outcome: Outcome): void {
  const { isBreach, violation } = outcome
  const { [isBreach ? 'breach' : 'contract']: ofClass } = stats.classes
  stats.schedules++
  ofClass.schedules++
  stats.steps += outcome.steps
  ofClass.steps += outcome.steps
  stats.virtualMs += outcome.virtualMs
  stats.trace = (stats.trace + outcome.trace) >>> 0
  stats.maxHealMs = Math.max(stats.maxHealMs, outcome.healMs)
  for (const decision of outcome.taken) {
    const kind = kindOf(decision)
    const of = classOf(kind)
    bump(of === undefined ? stats.actions : stats.faults[of], kind, 1)
  }
  for (const mark of outcome.marks) bump(stats.marks, mark, 1)
  if (violation !== undefined) fail(stats, failureOf(outcome, violation))
}

export function fail(stats: RunStats, failure: Failure): void {
  stats.classes[failure.isBreach ? 'breach' : 'contract'].failures++
  stats.failures.push(failure)
}

export function failureOf(
  { kind, seed, isBreach }: Outcome,
  { invariant, message }: Pick<Failure, 'invariant' | 'message'>,
): Failure {
  return { kind, seed, isBreach, invariant, message }
}

export function add(to: RunStats, from: RunStats): void {
  to.schedules += from.schedules
  to.steps += from.steps
  to.virtualMs += from.virtualMs
  to.trace = (to.trace + from.trace) >>> 0
  to.maxHealMs = Math.max(to.maxHealMs, from.maxHealMs)
  for (const each of classes) {
    to.classes[each].schedules += from.classes[each].schedules
    to.classes[each].steps += from.classes[each].steps
    to.classes[each].failures += from.classes[each].failures
    addCounts(to.faults[each], from.faults[each])
  }
  addCounts(to.actions, from.actions)
  addCounts(to.marks, from.marks)
  to.failures.push(...from.failures)
}

function addCounts(to: Record<string, number>, from: Readonly<Record<string, number>>): void {
  for (const [name, times] of Object.entries(from)) bump(to, name, times)
}

function bump(counts: Record<string, number>, name: string, by: number): void {
  counts[name] = (counts[name] ?? 0) + by
}

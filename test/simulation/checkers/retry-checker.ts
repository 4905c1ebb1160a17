import { nameOf, type Scenario } from '../system/scenario.js'

const FIRST_MS = 100
const CEILING_MS = 30_000
const SLACK_MS = 2
/** The largest number of clock reads until a delay ends; each read takes time if the clock drifts. */
const CLOCK_READS = 300
/** The time of unknown events. */
const NEVER = -Infinity

/** Runs of one key that failed, one after the other. */
interface Failures {
  readonly count: number
  readonly begun: number
  readonly at: number
  /** The suspended time before it. */
  readonly skipped: number
}

/**
 * Checks the retries of a controller: with growing delays, half of each random; after a change not earlier than the
 * first delay; and it counts its attempts.
 */
export class RetryChecker {
  readonly #scenario: Scenario
  readonly #name: string
  readonly #changedAt: ((key: string) => number) | undefined
  readonly #failures = new Map<string, Failures>()
  readonly #begun = new Map<string, number>()
  /** The time until which a key was enqueued from outside. */
  readonly #enqueuedAt = new Map<string, number>()
  #fullAt = NEVER

  constructor(scenario: Scenario, name: string, changedAt: ((key: string) => number) | undefined) {
    this.#scenario = scenario
    this.#name = name
    this.#changedAt = changedAt
  }

  enqueued(key: string, delayMs: number): void {
    const { clock, settings } = this.#scenario
    const due = clock.elapsed + delayMs + CLOCK_READS * settings.driftMs
    this.#enqueuedAt.set(key, Math.max(due, this.#enqueuedAt.get(key) ?? NEVER))
  }

  get fullAt(): number {
    return this.#fullAt
  }

  full(): void {
    this.#fullAt = this.#scenario.clock.elapsed
  }

  begins(key: string, attempt: number): void {
    const { violate, clock, settings } = this.#scenario
    const failures = this.#failures.get(key)
    this.#begun.set(key, clock.elapsed)
    const count = failures?.count ?? 0
    if (attempt !== count + 1)
      violate('retries', `${this.#name} calls it attempt ${attempt} at ${nameOf(key)} after ${count} failures`)
    if (failures === undefined) return
    const { begun, at, skipped } = failures
    const afterMs = clock.elapsed - at
    const mostMs = mostAfter(count)
    const about = `${this.#name} runs ${nameOf(key)} again ${Math.round(afterMs)} ms after failure ${count}`
    if (count > 3) this.#scenario.mark('a reconcile failed again and again')
    // An enqueued key is run at once.
    const dueUntil = this.#dueUntil(key)
    if (dueUntil < at) {
      const changedAt = Math.max(this.#changedAt?.(key) ?? Infinity, dueUntil)
      const leastMs = changedAt < begun ? mostMs / 2 : FIRST_MS / 2
      if (afterMs < leastMs - SLACK_MS) violate('retries', `${about}, ${leastMs} at least`)
    }
    const isExact = settings.driftMs === 0 && clock.skipped === skipped && this.#fullAt <= at
    if (isExact && afterMs > mostMs + SLACK_MS) violate('retries', `${about}, ${mostMs} at most`)
  }

  /** A time during a suspension comes only after it. */
  #dueUntil(key: string): number {
    const { clock, settings } = this.#scenario
    const due = this.#enqueuedAt.get(key) ?? NEVER
    const { from, to } = clock.lastSkip
    return due >= from && due < to ? to + CLOCK_READS * settings.driftMs : due
  }

  /** Whether a failed key may still wait for its retry. */
  mayWait(key: string): boolean {
    const failures = this.#failures.get(key)
    if (failures === undefined) return false
    const { clock, settings } = this.#scenario
    const { count, begun, at, skipped } = failures
    const changedAt = this.#changedAt?.(key) ?? NEVER
    const due = changedAt > begun ? Math.max(changedAt, at + FIRST_MS) : at + mostAfter(count)
    const isExact = settings.driftMs === 0 && clock.skipped === skipped
    return !isExact || clock.elapsed <= due + SLACK_MS
  }

  failed(key: string): void {
    const { clock } = this.#scenario
    const count = (this.#failures.get(key)?.count ?? 0) + 1
    const begun = this.#begun.get(key) ?? NEVER
    this.#failures.set(key, { count, begun, at: clock.elapsed, skipped: clock.skipped })
  }

  succeeded(key: string): void {
    this.#failures.delete(key)
  }
}

const mostAfter = (failures: number): number => Math.min(FIRST_MS * 2 ** (failures - 1), CEILING_MS)

import type { Change } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'

/** A resync of a key comes within this many periods plus the slack: added and deleted keys move its time. */
const PERIODS = 3
const SLACK_MS = 1_000
/** The largest number of clock reads in one check; each read takes time if the clock drifts. */
const CLOCK_READS = 1_000
/** The largest number of immediate resyncs of one key: one is handled, one waits for its handler, one is queued. */
const AT_ONCE = 3

/**
 * Checks resyncs. They contain the last received object. Every object is delivered once a period while nothing is
 * pending. They never pile up behind a stuck handler (I12).
 */
export class ResyncChecker {
  readonly periodMs: number
  readonly #scenario: Scenario
  readonly #name: string
  readonly #receivedAt = new Map<string, number[]>()
  /** The time since which each key waits for its resync. */
  readonly #waitsSince = new Map<string, number>()
  #skipped = 0
  /** The keys of the follower in the last step. */
  #keys: ReadonlySet<string> = new Set()
  received = 0

  constructor(scenario: Scenario, name: string, periodMs: number) {
    this.#scenario = scenario
    this.#name = name
    this.periodMs = periodMs
  }

  receive({ type, key, object, previous, version }: Change<Item>): void {
    const { violate, mark, clock, settings } = this.#scenario
    this.received++
    this.#waitsSince.delete(key)
    mark('a follower received a resync')
    if (type !== 'update' || object !== previous || version !== undefined)
      violate('I4', `${this.#name} received "${type}" of ${nameOf(key)} as a resync, which is another change`)
    const receivedAt = this.#receivedAt.get(key) ?? []
    this.#receivedAt.set(key, [...receivedAt, clock.elapsed].slice(-AT_ONCE))
    const [first] = receivedAt
    if (receivedAt.length < AT_ONCE || first === undefined) return
    const tookMs = clock.elapsed - first
    if (tookMs < this.periodMs / settings.keys.length - 1)
      violate('I12', `${this.#name} received ${AT_ONCE + 1} resyncs of ${nameOf(key)} in ${tookMs} ms`)
  }

  /** Every known object is resynced in time, except while the follower is busy. */
  checkStep(known: ReadonlyMap<string, Item>, isBusy: boolean): void {
    const { clock, settings, violate } = this.#scenario
    const isUnnoticed = clock.skipped > this.#skipped
    this.#skipped = clock.skipped
    // Added or deleted keys move the times of others.
    if (isBusy || isUnnoticed || !this.#hasAll(known)) this.#waitsSince.clear()
    if (isBusy) return
    for (const key of known.keys()) {
      const since = this.#waitsSince.get(key) ?? clock.elapsed
      this.#waitsSince.set(key, since)
      if (clock.reached - since > PERIODS * this.periodMs + SLACK_MS + CLOCK_READS * settings.driftMs)
        violate('resyncs', `${this.#name} has not received a resync of ${nameOf(key)} for ${clock.elapsed - since} ms`)
    }
  }

  /** Whether the known keys are those of the last step. */
  #hasAll(known: ReadonlyMap<string, Item>): boolean {
    const keys = this.#keys
    let isSame = known.size === keys.size
    for (const key of known.keys()) isSame &&= keys.has(key)
    if (!isSame) this.#keys = new Set(known.keys())
    return isSame
  }
}

/** The resync period of a follower; undefined: no resyncs. */
export function drawResync({ decisions, settings }: Scenario, owner: string, probability: number): number | undefined {
  const period = decisions.pick('resync period', [300, 3_000, 10_000])
  if (!decisions.chance('resyncs', probability) || !decisions.take(`resync#${owner}`)) return undefined
  // If only an audit repairs the store, that takes long.
  return settings.isBreach && settings.auditMs !== false ? 100 * period : period
}

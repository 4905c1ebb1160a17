import type { Change } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'

/** Within so many periods, and this time, a key is told again: what comes and goes meanwhile moves its turn. */
const PERIODS = 3
const SLACK_MS = 1_000
/** How often our own code looks at a clock meanwhile, at most; each look takes time where it is slow. */
const CLOCK_READS = 1_000
/** How often one key may be told again at once: by what is handled, what waits for its handler, and what is queued. */
const AT_ONCE = 3

/**
 * Judges what a follower is told again: what it was told last, everything once a period while nothing waits for it, and
 * never so that it piles up, however long a handler is stuck (I12).
 */
export class ResyncChecker {
  readonly periodMs: number
  readonly #scenario: Scenario
  readonly #name: string
  /** When each key was told again lately. */
  readonly #receivedAt = new Map<string, number[]>()
  /** Since when each key has waited for its turn. */
  readonly #waitsSince = new Map<string, number>()
  #skipped = 0
  /** The keys that it knew when this was last looked at. */
  #keys: ReadonlySet<string> = new Set()
  /** How often anything was told again. */
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
    mark('a follower was told again what it knew')
    if (type !== 'update' || object !== previous || version !== undefined)
      violate('I4', `${this.#name} was told "${type}" of ${nameOf(key)} as a resync, and it is another change`)
    const receivedAt = this.#receivedAt.get(key) ?? []
    this.#receivedAt.set(key, [...receivedAt, clock.elapsed].slice(-AT_ONCE))
    const [first] = receivedAt
    if (receivedAt.length < AT_ONCE || first === undefined) return
    const tookMs = clock.elapsed - first
    if (tookMs < this.periodMs / settings.keys.length - 1)
      violate('I12', `${this.#name} was told again of ${nameOf(key)} ${AT_ONCE + 1} times in ${tookMs} ms`)
  }

  /** Everything that it knows it is told again in time; not while it is busy with something. */
  checkStep(known: ReadonlyMap<string, Item>, isBusy: boolean): void {
    const { clock, settings, violate } = this.#scenario
    const isUnnoticed = clock.skipped > this.#skipped
    this.#skipped = clock.skipped
    // What comes or goes moves the turn of others.
    if (isBusy || isUnnoticed || !this.#hasAll(known)) this.#waitsSince.clear()
    if (isBusy) return
    for (const key of known.keys()) {
      const since = this.#waitsSince.get(key) ?? clock.elapsed
      this.#waitsSince.set(key, since)
      if (clock.reached - since > PERIODS * this.periodMs + SLACK_MS + CLOCK_READS * settings.driftMs)
        violate('resyncs', `${this.#name} has not been told again of ${nameOf(key)} for ${clock.elapsed - since} ms`)
    }
  }

  /** Whether the keys that it knows are those of the last look. */
  #hasAll(known: ReadonlyMap<string, Item>): boolean {
    const keys = this.#keys
    let isSame = known.size === keys.size
    for (const key of known.keys()) isSame &&= keys.has(key)
    if (!isSame) this.#keys = new Set(known.keys())
    return isSame
  }
}

/** How often somebody wants to be told again; undefined: never. */
export function drawResync({ decisions, settings }: Scenario, owner: string, probability: number): number | undefined {
  const period = decisions.pick('resync period', [300, 3_000, 10_000])
  if (!decisions.chance('resyncs', probability) || !decisions.take(`resync#${owner}`)) return undefined
  // Where only the audit makes it right that takes long.
  return settings.isBreach && settings.auditMs !== false ? 100 * period : period
}

import { SourceError } from '../../../src/contract/errors.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { ReconcileContext } from '../../../src/subscriptions/controller-types.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import type { SleepCounter } from '../system/sim-clock.js'
import type { IndexesOf } from './declared-indexes.js'
import type { OpenCalls } from './open-calls.js'

/** When the informer of `after` is synced, in milliseconds. */
const SYNCED_AFTER_MS = [0, 0, 100, 3_000] as const

/** The informer of a controller of related keys. */
export interface RelatedKeysHost {
  readonly scenario: Scenario
  readonly life: number
  readonly informer: Informer<Item, IndexesOf>
  readonly isStopping: boolean
  readonly work: OpenCalls
}

/**
 * A controller that is only run by `watches`: it keeps the objects of each tenant. It also waits for another informer, which
 * may fail first.
 */
export class RelatedKeys {
  readonly name = 'the controller of tenants'
  readonly #host: RelatedKeysHost
  readonly #clock: SleepCounter
  /** The contents of the objects of each tenant in its last run. */
  readonly #seen = new Map<string, string>()
  readonly #running = new Set<string>()
  #isOtherSynced = false

  constructor(host: RelatedKeysHost, clock: SleepCounter) {
    this.#host = host
    this.#clock = clock
    const { informer } = host
    informer.reconcile((key, context) => this.#reconcile(key, context), {
      name: this.name,
      filter: () => false,
      concurrency: 2,
      after: [{ synced: ({ signal } = {}) => this.#otherSynced(signal) }],
      watches: [{ informer, keys: ({ tenant }) => [tenant] }],
    })
  }

  get isClosed(): boolean {
    return this.#host.isStopping
  }

  /** Whether each tenant was run with the current objects. */
  get isQuiet(): boolean {
    const objects = this.#objects()
    const tenants = new Set([...objects.keys(), ...this.#seen.keys()])
    return [...tenants].every((tenant) => (this.#seen.get(tenant) ?? '') === (objects.get(tenant) ?? ''))
  }

  #objects(): ReadonlyMap<string, string> {
    const objects = new Map<string, string>()
    for (const [key, { tenant, n }] of this.#host.informer.entries())
      objects.set(tenant, `${objects.get(tenant) ?? ''} ${key}:${n}`)
    for (const [tenant, text] of objects) objects.set(tenant, text.split(' ').sort().join(' '))
    return objects
  }

  async #otherSynced(signal?: AbortSignal): Promise<void> {
    const { decisions } = this.#host.scenario
    await this.#clock.sleep(decisions.pick('other informer is synced after', SYNCED_AFTER_MS), signal)
    if (!decisions.isQuiet && decisions.chance('other informer fails', 0.3))
      throw new SourceError('the other informer has failed', { code: 'UNAVAILABLE' })
    this.#isOtherSynced = true
  }

  async #reconcile(tenant: string, { reason, object }: ReconcileContext<Item>): Promise<void> {
    const { informer, isStopping, scenario, work } = this.#host
    const { clock, decisions, mark, note, settings, violate } = scenario
    note(this.name, tenant, reason)
    if (!this.#isOtherSynced) violate('controllers', `${this.name} runs before the informer of "after" is synced`)
    if (!informer.status.isSynced) violate('controllers', `${this.name} runs before the watched informer is synced`)
    if (reason !== 'watches' || object !== undefined) violate('controllers', `${this.name} runs with reason ${reason}`)
    if (this.#running.has(tenant)) violate('I4', `${this.name} runs "${tenant}" twice at once`)
    if (isStopping) return
    mark('a controller ran a key because of a watched informer')
    this.#running.add(tenant)
    const end = work.begins(this, tenant, clock.elapsed)
    const seen = this.#objects().get(tenant) ?? ''
    if (settings.mix.strikes('handler-slow')) await clock.sleep(decisions.below('slow related run', 400))
    this.#seen.set(tenant, seen)
    this.#running.delete(tenant)
    end()
  }
}

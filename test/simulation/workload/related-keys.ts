import { type LeaseFault, type MemoryLeases, memoryLeases } from '../../../adapters/memory/index.js'
import { type Controller, type ReconcileContext, SourceError } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import type { InformerSystem } from '../system/informer-system.js'
import type { Scenario } from '../system/scenario.js'
import type { SleepCounter } from '../system/sim-clock.js'
import type { Follower } from './follower.js'

const SYNCED_AFTER_MS = [0, 0, 100, 3_000] as const
const LEASE_MS = 1_000
const LEASE_FAULTS: readonly LeaseFault[] = ['lost request', 'lost reply', 'late request', 'late reply']

/**
 * A controller that is only run by `watches`: it keeps the objects of each tenant. It also waits for another informer, which
 * may fail first. Sometimes it has several replicas.
 */
export class RelatedKeys {
  readonly name = 'the controller of tenants'
  readonly #host: InformerSystem<Scenario, Follower>
  readonly #clock: SleepCounter
  readonly #leases: MemoryLeases | undefined
  readonly #replicas: Controller[] = []
  /** The contents of the objects of each tenant in its last run. */
  readonly #seen = new Map<string, string>()
  readonly #running = new Map<string, AbortSignal>()
  #isOtherSynced = false

  constructor(host: InformerSystem<Scenario, Follower>, clock: SleepCounter) {
    this.#host = host
    this.#clock = clock
    const { decisions } = host.scenario
    // A schedule with a broken source lasts hours, and renewals would be most of its steps. Replicas read the clock often.
    const { isBreach, driftMs } = host.scenario.settings
    const isShared = !isBreach && driftMs === 0 && decisions.chance('related replicas', 0.5)
    if (isShared) this.#leases = memoryLeases({ group: 'tenants', leaseMs: LEASE_MS, clock })
    for (let count = isShared ? 1 + decisions.below('related replicas', 3) : 1; count > 0; count--) this.#add()
    if (isShared) this.#disturb()
  }

  get isClosed(): boolean {
    return this.#host.isStopping
  }

  /**
   * Whether each tenant was run with the current objects. A replica that joins does not know a tenant whose objects were
   * deleted before.
   */
  get isQuiet(): boolean {
    const objects = this.#objects()
    const tenants = new Set([...objects.keys(), ...(this.#leases === undefined ? this.#seen.keys() : [])])
    return [...tenants].every((tenant) => (this.#seen.get(tenant) ?? '') === (objects.get(tenant) ?? ''))
  }

  expects({ code, message }: SourceError): boolean {
    const isOfLeases = this.#leases !== undefined && message.includes(this.#leases.name)
    return isOfLeases && ['LEASE_LOST', 'UNAVAILABLE', 'HANDLER'].includes(code)
  }

  #add(): void {
    const { informer } = this.#host
    const controller = informer.reconcile((key, context) => this.#reconcile(key, context), {
      name: this.name,
      filter: () => false,
      concurrency: 2,
      after: [{ synced: ({ signal } = {}) => this.#otherSynced(signal) }],
      watches: [{ informer, keys: ({ tenant }) => [tenant] }],
      ...(this.#leases !== undefined && { leases: this.#leases }),
    })
    this.#replicas.push(controller)
  }

  /** From time to time a replica joins or leaves, or the lease store has faults. */
  #disturb(): void {
    const { clock, decisions, mark, note } = this.#host.scenario
    clock.in(decisions.below('related fault', 4 * LEASE_MS), () => {
      this.#leases?.deliver()
      if (this.isClosed || decisions.isQuiet) return
      const fault = decisions.pick('related fault', ['leaves', 'joins', ...LEASE_FAULTS] as const)
      note(this.name, fault)
      if (fault === 'joins') this.#add()
      else if (fault !== 'leaves') this.#leases?.disturb(fault, 1 + decisions.below('related faults', 3))
      else if (this.#replicas.length > 1) {
        mark('a replica left its group')
        void this.#replicas.shift()?.close({ drain: decisions.chance('replica drains', 0.5) })
      }
      this.#disturb()
    })
  }

  #objects(): ReadonlyMap<string, string> {
    const objects = new Map<string, string[]>()
    for (const [key, { tenant, n }] of this.#host.informer.entries()) {
      const known = objects.get(tenant)
      if (known === undefined) objects.set(tenant, [`${key}:${n}`])
      else known.push(`${key}:${n}`)
    }
    return new Map(Array.from(objects, ([tenant, list]) => [tenant, list.sort().join(' ')]))
  }

  async #otherSynced(signal?: AbortSignal): Promise<void> {
    const { decisions } = this.#host.scenario
    await this.#clock.sleep(decisions.pick('other informer is synced after', SYNCED_AFTER_MS), signal)
    if (!decisions.isQuiet && decisions.chance('other informer fails', 0.3))
      throw new SourceError('the other informer has failed', { code: 'UNAVAILABLE' })
    this.#isOtherSynced = true
  }

  async #reconcile(tenant: string, { reason, object, signal }: ReconcileContext<Item>): Promise<void> {
    const { informer, isStopping, scenario, work } = this.#host
    const { clock, decisions, mark, note, settings, violate } = scenario
    note(this.name, tenant, reason)
    if (!this.#isOtherSynced) violate('controllers', `${this.name} runs before the informer of "after" is synced`)
    if (!informer.status.isSynced) violate('controllers', `${this.name} runs before the watched informer is synced`)
    const isOfReplicas = reason === 'gained' || reason === 'retry'
    const isDue = reason === 'watches' || (isOfReplicas && this.#leases !== undefined)
    if (!isDue || object !== undefined) violate('controllers', `${this.name} runs with reason ${reason}`)
    if (this.#running.get(tenant)?.aborted === false) violate('I4', `${this.name} runs "${tenant}" twice at once`)
    if (isStopping) return
    mark('a controller ran a key because of a watched informer')
    this.#running.set(tenant, signal)
    const end = work.begins(this, tenant, clock.elapsed)
    const seen = this.#objects().get(tenant) ?? ''
    try {
      if (settings.mix.strikes('handler-slow')) await clock.sleep(decisions.below('slow related run', 400))
      signal.throwIfAborted()
      this.#seen.set(tenant, seen)
    } finally {
      if (this.#running.get(tenant) === signal) this.#running.delete(tenant)
      end()
    }
  }
}

import type { SourceError } from '../../contract/errors.js'
import type { Leases } from '../../contract/leases.js'
import type { Random } from '../../contract/random.js'
import type { Change, Deleted } from '../../queue/change.js'
import { performSlice, type Steps } from '../../util/steps.js'
import type { ReplicaStatus } from '../controller-types.js'
import type { FeedHost } from '../feed.js'
import type { ScopeFilter } from '../scope-filter.js'
import { ForeignDeletions } from './foreign-deletions.js'
import { type OwnedRun, ReplicaGate } from './replica-gate.js'

/** For how many leases a deletion is remembered. Within this time another replica notices the loss of its owner. */
const DELETION_LEASES = 2

export interface ReplicatedKeysHost<T> {
  readonly host: FeedHost<T>
  readonly scope: ScopeFilter<T>
  readonly random: Random
  /** Runs a key that was gained. `deletion`: it was deleted a short time ago. */
  gained(key: string, deletion: Deleted<T> | undefined): void
  /** The replica has left its group. */
  left(): void
}

/** The keys of a controller that runs on several replicas: which of them run here. */
export class ReplicatedKeys<T> {
  readonly #host: ReplicatedKeysHost<T>
  readonly #gate: ReplicaGate
  readonly #deletions: ForeignDeletions<T>
  /** Conditions for gained keys: one for each change of the ownership since the search for keys began. */
  #wasGained: ((key: string) => boolean)[] = []
  #search: Steps | undefined
  #isReady = false

  constructor(leases: Leases, host: ReplicatedKeysHost<T>) {
    this.#host = host
    const { clock } = host.host
    const report = (error: SourceError): void => host.host.report(error)
    this.#deletions = new ForeignDeletions(clock, leases.leaseMs * DELETION_LEASES)
    const gained = (): void => this.#gained()
    this.#gate = new ReplicaGate(leases, { clock, random: host.random, report, gained, left: () => host.left() })
  }

  get status(): ReplicaStatus {
    return this.#gate.status
  }

  get hasLeft(): boolean {
    return this.#gate.hasLeft
  }

  /** The store has the first list. */
  ready(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.#gate.ready()
  }

  mayRun(key: string): boolean {
    return this.#gate.mayRun(key)
  }

  begin(key: string): OwnedRun {
    return this.#gate.begin(key)
  }

  /** Makes the signal of a run with a time limit look at the clock too. */
  checked(signal: AbortSignal): AbortSignal {
    return this.#gate.checked(signal)
  }

  /** Whether another replica runs the key of a change. */
  skips(change: Change<T>): boolean {
    if (this.mayRun(change.key)) return false
    this.skipped(change)
    return true
  }

  /** A change of a key that another replica runs. */
  skipped(change: Change<T>): void {
    if (change.type === 'delete') this.#deletions.add(change)
    else this.#deletions.take(change.key)
  }

  leave(reason: SourceError): void {
    this.#search = undefined
    this.#gate.leave(reason)
  }

  /** Looks for gained keys, in slices. A change of the ownership meanwhile begins it again. */
  #gained(): void {
    this.#wasGained.push(this.#gate.takeGained())
    const isSearching = this.#search !== undefined
    this.#search = this.#steps()
    if (!isSearching) void this.#perform()
  }

  async #perform(): Promise<void> {
    const { clock, slices } = this.#host.host
    await Promise.resolve()
    while (this.#search !== undefined && !performSlice(this.#search, clock, slices)) await clock.sleep(0)
    this.#search = undefined
  }

  *#steps(): Steps {
    const conditions = [...this.#wasGained]
    const isGained = (key: string): boolean => this.mayRun(key) && conditions.some((condition) => condition(key))
    const entries = this.#host.scope.entries()
    for (let next = entries.next(); next.done !== true; next = entries.next()) {
      const { key } = next.value
      if (isGained(key)) this.#host.gained(key, undefined)
      yield
    }
    for (const key of this.#deletions.keys()) {
      const deletion = isGained(key) ? this.#deletions.take(key) : undefined
      if (deletion !== undefined) this.#host.gained(key, deletion)
      yield
    }
    this.#wasGained = []
  }
}

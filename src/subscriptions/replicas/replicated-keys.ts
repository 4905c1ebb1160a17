import type { SourceError } from '../../contract/errors.js'
import type { Leases } from '../../contract/leases.js'
import type { Random } from '../../contract/random.js'
import type { Change, Deleted } from '../../queue/change.js'
import { performSlice, type Steps } from '../../util/steps.js'
import type { FailingKeys } from '../controller/failing-keys.js'
import type { Watching } from '../controller/watched-informer.js'
import type { Feed } from '../feed.js'
import { hashOf } from './owners.js'
import { ReplicaGate } from './replica-gate.js'

/** A key without an object is remembered for two leases: a replica notices the loss of its owner in this time. */
const FOREIGN_LEASES = 2

interface ControllerParts<T> {
  readonly feed: Feed<T>
  readonly failing: FailingKeys
  readonly watches: readonly Watching[]
  readonly random: Random
  /** Runs a key that was gained. `deletion`: it was deleted a short time ago. */
  gained(key: string, deletion: Deleted<T> | undefined): void
  left(): void
}

export class ReplicatedKeys<T> {
  readonly #controller: ControllerParts<T>
  readonly gate: ReplicaGate
  readonly #foreign: ForeignKeys<T>
  #search: Steps | undefined
  #isReady = false
  readonly #leaving = new AbortController()

  constructor(leases: Leases, controller: ControllerParts<T>) {
    this.#controller = controller
    const isHeld = (key: string): boolean => this.gate.isHeld(key)
    this.#foreign = new ForeignKeys(() => this.gate.leasedMs, leases.leaseMs * FOREIGN_LEASES, isHeld)
    const hooks = { gained: () => this.#gained(), left: () => controller.left() }
    this.gate = new ReplicaGate(leases, controller.feed.host, controller.random, hooks)
  }

  /** The store has the first list. */
  ready(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.gate.ready()
  }

  skips(change: Change<T>): boolean {
    if (this.gate.mayRun(change.key)) return false
    if (change.type === 'delete') this.#foreign.add(change.key, change)
    else this.#foreign.take(change.key)
    return true
  }

  /** A key that was ready belongs to another replica now. */
  dropped(key: string, deletion: Deleted<T> | undefined): void {
    const { host, scope } = this.#controller.feed
    const isFound = scope.has(key) && host.indexer.has(key)
    if (deletion !== undefined || !isFound) this.#foreign.add(key, deletion)
  }

  leave(reason: SourceError): void {
    this.#search = undefined
    this.#leaving.abort(reason)
    this.gate.leave(reason)
  }

  /** Looks for gained keys, in slices. A change of the ownership meanwhile begins it again. */
  #gained(): void {
    const isSearching = this.#search !== undefined
    this.#search = this.#steps()
    if (!isSearching) void this.#perform()
  }

  async #perform(): Promise<void> {
    const { clock, router } = this.#controller.feed.host
    await Promise.resolve()
    while (this.#search !== undefined && !performSlice(this.#search, clock, router.slices))
      await clock.sleep(0, this.#leaving.signal).catch(() => {}) // It was aborted.
    this.#search = undefined
  }

  *#steps(): Steps {
    const past = [...this.gate.past]
    const isGained = (key: string): boolean => {
      const hash = hashOf(key)
      return this.gate.owns(key, hash) && !past.every((ownership) => ownership.includes(key, hash))
    }
    const { failing, feed, watches } = this.#controller
    for (const key of failing.all.keys()) {
      if (!this.gate.mayRun(key)) failing.delete(key)
      yield
    }
    const entries = feed.scope.entries()
    for (let next = entries.next(); next.done !== true; next = entries.next()) {
      const { key } = next.value
      if (isGained(key)) this.#controller.gained(key, undefined)
      yield
    }
    for (const key of this.#foreign.keys()) {
      const known = isGained(key) ? this.#foreign.take(key) : undefined
      if (known !== undefined) this.#controller.gained(key, known.deletion)
      yield
    }
    const related = new Set<string>()
    for (const watch of watches)
      for (const keys of watch.keysOfObjects()) {
        const found = [...keys].filter((key) => !related.has(key) && isGained(key))
        for (const key of found) {
          related.add(key)
          this.#controller.gained(key, undefined)
        }
        yield
      }
    this.gate.past = []
  }
}

interface ForeignKey<T> {
  /** The deletion of its object. Undefined: it was enqueued, for example for `watches`. */
  readonly deletion: Deleted<T> | undefined
  readonly until: number
}

/**
 * The keys without an object, which the store lacks, that another replica runs. No time passes without a lease, and none
 * is forgotten while its last owner still runs it.
 */
class ForeignKeys<T> {
  readonly #leasedMs: () => number
  readonly #keptMs: number
  readonly #isHeld: (key: string) => boolean
  /** Invariant: in the order of their times. */
  readonly #keys = new Map<string, ForeignKey<T>>()

  constructor(leasedMs: () => number, keptMs: number, isHeld: (key: string) => boolean) {
    this.#leasedMs = leasedMs
    this.#keptMs = keptMs
    this.#isHeld = isHeld
  }

  add(key: string, deletion: Deleted<T> | undefined): void {
    const now = this.#leasedMs()
    const until = now + this.#keptMs
    for (const [old, known] of this.#keys) {
      if (known.until > now) break
      this.#keys.delete(old)
      if (this.#isHeld(old)) this.#keys.set(old, { ...known, until })
    }
    const known = this.#keys.get(key)
    this.#keys.delete(key)
    this.#keys.set(key, { deletion: deletion ?? known?.deletion, until })
  }

  /** Returns the key if it is not too old. */
  take(key: string): ForeignKey<T> | undefined {
    const known = this.#keys.get(key)
    this.#keys.delete(key)
    return known !== undefined && (known.until > this.#leasedMs() || this.#isHeld(key)) ? known : undefined
  }

  keys(): Iterable<string> {
    return this.#keys.keys()
  }
}

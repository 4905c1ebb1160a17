import type { Clock } from '../../src/contract/clock.js'
import { ABORTED, type SourceError } from '../../src/contract/errors.js'
import type { Leases } from '../../src/contract/leases.js'
import type { Random } from '../../src/contract/random.js'
import type { ReplicaStatus } from '../../src/subscriptions/controller/controller-types.js'
import { type OwnedRun, ReplicaGate } from '../../src/subscriptions/replicas/replica-gate.js'
import { redact } from '../../src/util/redact.js'

const KEY = 'relay'

/** One period in which a relay may write. */
export interface Term {
  readonly signal: AbortSignal
  /** The relay does not write any more. */
  end(): void
}

/** Which of several relays writes to a store: by a lease, if there are leases. */
export class Leadership {
  readonly #gate: ReplicaGate | undefined
  readonly #clock: Clock
  readonly #retryMs: number
  #gained = new AbortController()
  readonly #left = Promise.withResolvers<void>()

  constructor(
    leases: Leases | undefined,
    { clock, random, report }: { clock: Clock; random: Random; report: (error: SourceError) => void },
  ) {
    this.#clock = clock
    this.#retryMs = leases?.renewMs ?? 0
    const gained = (): void => this.#gained.abort(ABORTED)
    const left = (): void => this.#left.resolve()
    if (leases === undefined) left()
    else this.#gate = new ReplicaGate(leases, { clock, report }, random, { gained, left })
  }

  get status(): ReplicaStatus | undefined {
    return this.#gate?.status
  }

  /** While it waits, it calls `waits` after each renewal, with the reason. Rejects when the signal aborts. */
  async acquire(signal: AbortSignal, waits: (reason: string) => void): Promise<Term> {
    const gate = this.#gate
    if (gate === undefined) return { signal, end: () => {} }
    gate.ready()
    while (!gate.mayRun(KEY)) {
      signal.throwIfAborted()
      waits(reasonOf(gate))
      this.#gained = new AbortController()
      await this.#clock.sleep(this.#retryMs, AbortSignal.any([signal, this.#gained.signal])).catch(() => {})
    }
    signal.throwIfAborted()
    const run: OwnedRun = gate.begin(KEY)
    return { signal: AbortSignal.any([signal, run.signal]), end: () => run.end() }
  }

  /** Leaves the group, so that another relay need not wait until the lease expires. */
  async leave(reason: SourceError): Promise<void> {
    this.#gate?.leave(reason)
    await this.#left.promise
  }
}

/** Why a relay has no lease: the leases fail, it is new, or another one has it. */
function reasonOf({ failure, isNew, settleMs }: ReplicaGate): string {
  if (failure !== undefined) return `it has no lease, because ${redact(failure.message)}`
  if (!isNew) return 'it has no lease: another relay may write'
  const seconds = Math.ceil(settleMs / 1_000)
  return `it has no lease yet: a new relay waits up to ${seconds} s, in case an earlier relay still writes`
}

/** The error of a relay when another one has written to its store. */
export function conflictMessage({ message }: SourceError, store: string, leases: Leases | undefined): string {
  return leases === undefined
    ? `another relay writes to ${store}: give all of them the option "leases" (${message})`
    : `another relay has written to ${store}: if this repeats, its leases are not those of ${leases.name} (${message})`
}

import { type Clock, systemClock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type { LeaseRecord, LeaseSession, Leases, LeaseView } from '../../src/contract/leases.js'
import { checkOptions, isCount, isObject } from '../../src/util/validate-options.js'
import { type LeaseOptions, leasesOf } from '../common/lease-options.js'
import { LeaseTable } from './lease-table.js'

/**
 * What happens to a renewal. `lost request`: it is never performed. `lost reply`: it is performed, and never answered.
 * `late request`: it is performed when `deliver` is called. `late reply`: it is performed now, and answered by
 * `deliver`.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const leases = memoryLeases({ group: 'orders' })
 * orders.reconcile((key, { object }) => makeItSo(key, object), { leases })
 * leases.disturb('late reply', 2) // The next two renewals are stored, and answered by `deliver`.
 * leases.deliver()
 * ```
 */
export type LeaseFault = 'lost request' | 'lost reply' | 'late request' | 'late reply'

/**
 * A lease store in memory with scripted faults, for tests. Replicas in one process share it.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const leases = memoryLeases({ group: 'orders' })
 * const controller = orders.reconcile((key, { object }) => makeItSo(key, object), { leases })
 * leases.setAvailable(false) // After 0.7 `leaseMs` the signals of all runs abort.
 * leases.setAvailable(true)
 * leases.fork() // A failover that loses the last write.
 * console.log(leases.records.map(({ member, renewal }) => [member, renewal]))
 * ```
 */
export interface MemoryLeases extends Leases {
  /** The records in the store. */
  readonly records: readonly LeaseRecord[]
  /** Disturbs the next `times` renewals (default 1). */
  disturb(fault: LeaseFault, times?: number): void
  /** Performs late requests and answers late replies, in their order. */
  deliver(): void
  /** While false, every renewal fails with `UNAVAILABLE`. */
  setAvailable(isAvailable: boolean): void
  /** Loses the last `writes` writes (default 1), and starts a new epoch: a failover of an asynchronous replica. */
  fork(writes?: number): void
}

/**
 * Options of `memoryLeases`.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const clock = new VirtualClock()
 * const leases = memoryLeases({ group: 'orders', mode: 'leader', leaseMs: 1_000, clock }) // Default: 10 000.
 * createInformer({ source, clock }).reconcile((key, { object }) => makeItSo(key, object), { leases })
 * ```
 */
export interface MemoryLeasesOptions extends LeaseOptions {
  /** The clock of the store. Default: the system's. */
  readonly clock?: Clock
}

/**
 * Returns a lease store in memory. Controllers that are given this object share their keys: another call makes another store.
 * @returns The lease store, for the option `leases` of `reconcile`.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import { memoryLeases } from 'listwatch/memory'
 *
 * const leases = memoryLeases({ group: 'orders' })
 * leases.disturb('lost reply')
 * ```
 */
export function memoryLeases(options: MemoryLeasesOptions): MemoryLeases {
  const leases = leasesOf(options, {
    call: 'memoryLeases',
    store: 'memory',
    checks: { clock: isObject },
    required: [],
    open: () => open(),
  })
  const { clock = systemClock } = options
  const table = new LeaseTable()
  const watching = new Map<LeaseSession, (released?: string) => void>()
  const faults: LeaseFault[] = []
  let late: (() => void)[] = []
  let isAvailable = true

  const unavailable = (): SourceError => new SourceError(`${leases.name} does not answer`, { code: 'UNAVAILABLE' })
  const notify = (writer: LeaseSession, released: string | undefined): void => {
    for (const [session, changed] of watching)
      if (session !== writer) void Promise.resolve().then(() => changed(released))
  }

  const renewIn = (
    session: LeaseSession,
    ...[record, evict, signal]: Parameters<LeaseSession['renew']>
  ): Promise<LeaseView> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      if (!isAvailable) return reject(unavailable())
      const perform = (answer: (view: LeaseView) => void): void => {
        try {
          const { view, isChanged, hasReleased } = table.renew(record, evict, clock.now())
          if (isChanged) notify(session, hasReleased ? record.member : undefined)
          answer(view)
        } catch (error) {
          reject(error)
        }
      }
      const fault = faults.shift()
      if (fault === 'late request') late.push(() => perform(resolve))
      else if (fault === 'late reply') perform((view) => late.push(() => resolve(view)))
      else if (fault === 'lost reply') perform(() => {})
      else if (fault === undefined) perform(resolve)
    })
  const open = (): LeaseSession => {
    const session: LeaseSession = {
      renew: (...request) => renewIn(session, ...request),
      leave: async (member) => {
        if (!isAvailable) throw unavailable()
        if (table.leave(member)) notify(session, member)
      },
      watch: (changed, signal) => {
        watching.set(session, changed)
        signal.addEventListener('abort', () => watching.delete(session), { once: true })
      },
      close: async () => void watching.delete(session),
    }
    return session
  }

  return {
    ...leases,
    get records() {
      return table.records
    },
    disturb: (fault, times = 1) => {
      checkOptions('disturb', { times }, { times: isCount })
      for (let nth = 0; nth < times; nth++) faults.push(fault)
    },
    deliver: () => {
      const delivered = late
      late = []
      for (const each of delivered) each()
    },
    setAvailable: (isNow) => {
      isAvailable = isNow
    },
    fork: (writes = 1) => {
      checkOptions('fork', { writes }, { writes: isCount })
      table.fork(writes)
    },
  }
}

import { OptionError } from '../../src/contract/errors.js'
import type { LeaseSession, Leases } from '../../src/contract/leases.js'
import { assertPresent, checkOptions, isOneOf, isPositive, type OptionCheck } from '../../src/util/validate-options.js'

/**
 * The options that all lease stores have.
 *
 * @example
 * ```ts
 * import { postgresLeases } from 'listwatch/postgres'
 *
 * const shared = { pool, leaseMs: 5_000 } // Default: 10 000. The keys of a crashed replica wait for it.
 * const orderReplicas = postgresLeases({ ...shared, group: 'orders' }) // They share the keys.
 * const reportReplicas = postgresLeases({ ...shared, group: 'reports', mode: 'leader' }) // One of them runs all keys.
 * ```
 */
export interface LeaseOptions {
  /** The name of the group. Controllers with the same store and group share their keys. */
  readonly group: string
  /** `share` (default): every member owns about as many keys. `leader`: one member owns all keys. */
  readonly mode?: 'share' | 'leader'
  /**
   * For how many milliseconds a member may run keys after it sent a renewal. The keys of a member that crashed wait for
   * about as long. All members need the same value. At least 500; default 10 000.
   */
  readonly leaseMs?: number
  /** Milliseconds between two renewals, at most half of `leaseMs`. Default `leaseMs / 5`. */
  readonly renewMs?: number
}

/** A shorter lease would end during a pause of the garbage collector. */
const SHORTEST_LEASE_MS = 500
const DEFAULT_LEASE_MS = 10_000
/**
 * A request without a response fails after this part of `leaseMs`, so that another one fits into the lease. After a
 * third the member abandons it, and would not have its error, which names the server.
 */
const REQUEST_PART = 0.3

const isLease: OptionCheck = (value) =>
  isPositive(value) ?? (Number(value) < SHORTEST_LEASE_MS ? `must be at least ${SHORTEST_LEASE_MS}` : undefined)

const MAX_GROUP_LENGTH = 200

/** Whether a value is a name of a group that every store accepts: printable, and without braces and spaces. */
export const isGroup: OptionCheck = (value) =>
  typeof value === 'string' && value.length <= MAX_GROUP_LENGTH && /^[^\s\p{C}{}]+$/u.test(value)
    ? undefined
    : `must be a string of 1 to ${MAX_GROUP_LENGTH} printable characters without spaces and braces`

export interface LeaseStore<O extends LeaseOptions> {
  /** The name of the function that the user calls. */
  readonly call: string
  /** The store, for names of groups in errors: `postgres`. */
  readonly store: string
  /** The checks of the options that this store adds. A check of `group` replaces the common one. */
  readonly checks: Readonly<Record<Exclude<keyof O, keyof LeaseOptions>, OptionCheck>> & {
    readonly group?: OptionCheck
  }
  /** The required options, besides `group`, each with an example. */
  readonly required: readonly (readonly [option: keyof O & string, example: string])[]
  open(options: O, settings: LeaseSettings): LeaseSession
}

export interface LeaseSettings {
  readonly name: string
  readonly leaseMs: number
  /** The deadline of one request, in milliseconds. */
  readonly requestMs: number
}

/** Checks the options, and returns the `Leases`. Throws an OptionError that names a wrong or missing option. */
export function leasesOf<O extends LeaseOptions>(
  options: O,
  { call, store, checks, required, open }: LeaseStore<O>,
): Leases {
  checkOptions(call, options, {
    group: isGroup,
    mode: isOneOf('share', 'leader'),
    leaseMs: isLease,
    renewMs: isPositive,
    ...checks,
  })
  for (const [option, example] of required) assertPresent(call, options, option, example)
  assertPresent(call, options, 'group', "'orders'")
  const { group, mode = 'share', leaseMs = DEFAULT_LEASE_MS, renewMs = leaseMs / 5 } = options
  if (renewMs > leaseMs / 2) {
    const flaw = `must be at most half of leaseMs (${leaseMs}), got ${renewMs}`
    throw new OptionError(`${call}: option "renewMs" ${flaw}`, { option: 'renewMs' })
  }
  const name = `${store} leases "${group}"`
  const requestMs = leaseMs * REQUEST_PART
  return { name, mode, leaseMs, renewMs, open: () => open(options, { name, leaseMs, requestMs }) }
}

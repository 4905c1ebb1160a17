import type { Leases } from '../../src/contract/leases.js'

/**
 * How the cases of `leasesConformance` create a lease store.
 *
 * @example
 * ```ts
 * import { postgresLeases } from 'listwatch/postgres'
 * import { type LeasesHarness, leasesConformance } from 'listwatch/testing'
 *
 * const leases: LeasesHarness = {
 *   create: (group) => postgresLeases({ pool, group }), // Another object at each call, as in another process.
 *   withoutHints: 'the option "connect" is not used',
 * }
 * await leasesConformance('leases in Postgres', leases)
 * ```
 */
export interface LeasesHarness {
  /**
   * Returns the store of a group. Each call returns another object, as another process has it. Stores of one group
   * share their records; a new group has none.
   */
  create(group: string): Leases | Promise<Leases>
  /** Why the store has no `watch`. The cases that need it are skipped with this reason. Default: it has one. */
  readonly withoutHints?: string
  /** The timeout of each wait in a case, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number
}

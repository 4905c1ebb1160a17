import type { Kind, ScheduleOptions } from './schedule.js'
import type { World } from './world.js'

interface KindEntry {
  /** What its schedules are of, for a report. */
  readonly of: string
  /** Imports its world, after a mutant was made. */
  load(): Promise<new (seed: number, options: ScheduleOptions) => World>
  /** In a campaign of no kind, one of this many seeds makes a schedule of it. Default: none. */
  readonly every?: number
  /** The number of schedules of a campaign of this kind, unless one is requested. Default 50 000. */
  readonly runs?: number
  /** The number of schedules that a process runs between two reports. Default 500. */
  readonly chunk?: number
  /** The number of schedules that run at a time. Default 8. */
  readonly lanes?: number
}

export const kindTable: Readonly<Record<Kind, KindEntry>> = {
  one: {
    of: 'one source',
    load: async () => (await import('../system/single-source-world.js')).SingleSourceWorld,
    every: 1,
  },
  set: { of: 'several sources', load: async () => (await import('../sets/set-world.js')).SetWorld, every: 20 },
  group: { of: 'groups', load: async () => (await import('../groups/group-world.js')).GroupWorld, every: 20 },
  cache: {
    of: 'processes over one cache',
    load: async () => (await import('../cache/cache-world.js')).CacheWorld,
    every: 50,
  },
  replicas: {
    of: 'replicas of a controller',
    load: async () => (await import('../replicas/replica-world.js')).ReplicaWorld,
  },
  relay: {
    of: 'relays of a mirror',
    load: async () => (await import('../relay/relay-world.js')).RelayWorld,
    runs: 5_000,
    chunk: 50,
  },
  share: {
    of: 'a share with its workers',
    load: async () => (await import('../share/share-world.js')).ShareWorld,
    runs: 5_000,
    chunk: 50,
    // Its ports are those of the process.
    lanes: 1,
  },
  views: {
    of: 'collections of one history, with views',
    load: async () => (await import('../views/view-world.js')).ViewWorld,
    every: 50,
    runs: 5_000,
    chunk: 100,
  },
}

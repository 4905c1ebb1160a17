import { availableParallelism } from 'node:os'
import type { Mutant } from '../mutants/mutate.js'
import { add, emptyStats, type RunStats } from './run-stats.js'
import { type Kind, kinds } from './schedule.js'
import { SimulationProcess } from './worker-process.js'

/** How many schedules a process runs between two reports. */
const CHUNK = 500
/** Of so many seeds one also makes a schedule of a set, and one of a group. */
export const OTHER_KINDS_EVERY = 20

export interface CampaignOptions {
  readonly runs: number
  readonly seed: number
  /** Schedules of this kind alone, of each seed. Default: of one source, and of some seeds the others beside. */
  readonly kind?: Kind | undefined
  /** Of this defect of the source, not of the source itself. */
  readonly mutant?: Mutant | undefined
  /** Default: one for each core. */
  readonly threads?: number
  /** No further schedules are begun from then on, as `performance.now()` counts; those that were are told. */
  readonly until?: number
  /** Told after each chunk. */
  readonly onProgress?: (statsByKind: StatsByKind) => void
}

/** What schedules of each kind came to. */
export type StatsByKind = Readonly<Record<Kind, RunStats>>

/** Runs schedules of `runs` seeds, beginning with `seed`, on all cores. */
export async function campaign(options: CampaignOptions): Promise<StatsByKind> {
  const { runs, seed, kind: only, until = Infinity, mutant, onProgress } = options
  const threads = Math.min(options.threads ?? availableParallelism(), Math.ceil(runs / CHUNK))
  const statsByKind: StatsByKind = { one: emptyStats(), set: emptyStats(), group: emptyStats() }
  let next = seed
  const work = async (): Promise<void> => {
    const thread = new SimulationProcess(mutant)
    try {
      while (next < seed + runs && performance.now() < until) {
        const from = next
        const count = Math.min(CHUNK, seed + runs - from)
        next += count
        for (const kind of only === undefined ? kinds : [only]) {
          const every = kind === 'one' || only !== undefined ? 1 : OTHER_KINDS_EVERY
          const done = await thread.run({ kind, every, from, count, untilFailure: false })
          add(statsByKind[kind], done.stats)
        }
        onProgress?.(statsByKind)
      }
    } finally {
      await thread.close()
    }
  }
  await Promise.all(Array.from({ length: threads }, work))
  return statsByKind
}

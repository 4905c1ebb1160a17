import { availableParallelism } from 'node:os'
import type { Mutant } from '../../mutants/mutant.js'
import { add, emptyStats, type RunStats } from './run-stats.js'
import { type Kind, kinds } from './schedule.js'
import { SimulationProcess } from './worker-process.js'

/** The number of schedules that a process runs between two reports. */
const CHUNK = 500
/** One of this many seeds makes a schedule of the kind. */
export const SEEDS_PER_SCHEDULE: Readonly<Record<Kind, number>> = { one: 1, set: 20, group: 20, cache: 50 }

export interface CampaignOptions {
  readonly runs: number
  readonly seed: number
  /** Schedules of this kind only, one for each seed. Default: of one source, with the other kinds for some seeds. */
  readonly kind?: Kind | undefined
  /** Runs the source with this defect. */
  readonly mutant?: Mutant | undefined
  /** Default: one for each core. */
  readonly threads?: number
  /** No schedule is begun after this time, as `performance.now()` counts. Running ones are finished. */
  readonly until?: number
  /** Called after each chunk. */
  readonly onProgress?: (statsByKind: StatsByKind) => void
}

/** The statistics of each kind. */
export type StatsByKind = Readonly<Record<Kind, RunStats>>

/** Runs schedules of `runs` seeds, beginning with `seed`, on all cores. */
export async function campaign(options: CampaignOptions): Promise<StatsByKind> {
  const { runs, seed, kind: only, until = Infinity, mutant, onProgress } = options
  const threads = Math.min(options.threads ?? availableParallelism(), Math.ceil(runs / CHUNK))
  const statsByKind: StatsByKind = { one: emptyStats(), set: emptyStats(), group: emptyStats(), cache: emptyStats() }
  let next = seed
  const work = async (): Promise<void> => {
    const thread = new SimulationProcess(mutant)
    try {
      while (next < seed + runs && performance.now() < until) {
        const from = next
        const count = Math.min(CHUNK, seed + runs - from)
        next += count
        for (const kind of only === undefined ? kinds : [only]) {
          const every = only === undefined ? SEEDS_PER_SCHEDULE[kind] : 1
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

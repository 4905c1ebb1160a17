import { availableParallelism } from 'node:os'
import type { Mutant } from '../../mutants/mutant.js'
import { kindTable } from './kind-table.js'
import { add, emptyStats, type RunStats } from './run-stats.js'
import { type Kind, kinds } from './schedule.js'
import { SimulationProcess } from './worker-process.js'

/** The kinds of a campaign of no kind. */
export const mixedKinds = kinds.filter((kind) => kindTable[kind].every !== undefined)

export interface CampaignOptions {
  readonly runs: number
  readonly seed: number
  /** Schedules of this kind only, one for each seed. Default: of one source, with other kinds for some seeds. */
  readonly kind?: Kind | undefined
  /** Runs the source with this defect. */
  readonly mutant?: Mutant | undefined
  /** Default: one for each core. */
  readonly threads?: number
  /** No schedule is begun after this time, as `performance.now()` counts. Running ones are finished. */
  readonly until?: number
  readonly onProgress?: (statsByKind: StatsByKind) => void
}

export type StatsByKind = Readonly<Record<Kind, RunStats>>

/** Runs schedules of `runs` seeds, beginning with `seed`, on all cores. */
export async function campaign(options: CampaignOptions): Promise<StatsByKind> {
  const { runs, seed, kind: only, until = Infinity, mutant, onProgress } = options
  const { chunk = 500 } = kindTable[only ?? 'one']
  const threads = Math.min(options.threads ?? availableParallelism(), Math.ceil(runs / chunk))
  const statsByKind = Object.fromEntries(kinds.map((kind) => [kind, emptyStats()])) as StatsByKind
  let next = seed
  const work = async (): Promise<void> => {
    const thread = new SimulationProcess(mutant)
    try {
      while (next < seed + runs && performance.now() < until) {
        const from = next
        const count = Math.min(chunk, seed + runs - from)
        next += count
        for (const kind of only === undefined ? mixedKinds : [only]) {
          const every = only === undefined ? kindTable[kind].every : 1
          const done = await thread.run({ kind, every, from, count, untilFailure: false })
          add(statsByKind[kind], done.stats)
        }
        onProgress?.(statsByKind)
      }
    } finally {
      await thread.close() // Node 22 runs this file, and has no \`await using\`.
    }
  }
  await Promise.all(Array.from({ length: threads }, work))
  return statsByKind
}

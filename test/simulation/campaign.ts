import { availableParallelism } from 'node:os'
import { SimulationProcess } from './pool.js'
import { add, emptyTally, type Tally } from './tally.js'

/** How many schedules a thread runs between two reports. */
const CHUNK = 500

export interface CampaignOptions {
  readonly runs: number
  readonly seed: number
  /** Default: one for each core. */
  readonly threads?: number
  /** Told after each chunk. */
  readonly onProgress?: (tally: Tally) => void
}

/** Runs `runs` schedules, the first with `seed`, the others with the seeds after it, on all cores. */
export async function campaign(options: CampaignOptions): Promise<Tally> {
  const { runs, seed, onProgress } = options
  const threads = Math.min(options.threads ?? availableParallelism(), Math.ceil(runs / CHUNK))
  const tally = emptyTally()
  let next = seed
  const work = async (): Promise<void> => {
    const thread = new SimulationProcess()
    try {
      while (next < seed + runs) {
        const from = next
        const count = Math.min(CHUNK, seed + runs - from)
        next += count
        const done = await thread.run({ from, count, untilFailure: false })
        add(tally, done.tally)
        onProgress?.(tally)
      }
    } finally {
      await thread.close()
    }
  }
  await Promise.all(Array.from({ length: threads }, work))
  return tally
}

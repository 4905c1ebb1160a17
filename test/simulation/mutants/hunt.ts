import { availableParallelism } from 'node:os'
import { SimulationThread } from '../pool.js'
import type { Invariant } from '../stage.js'
import { mutants } from './index.js'
import type { Mutant } from './mutate.js'

/** A mutant that lives longer than this survives. */
export const MAX_SCHEDULES = 1_000
/** How long a mutant may take for that; one that hangs is caught too. */
const HANG_MS = 60_000

export interface Hunted {
  readonly mutant: Mutant
  /** Schedules until it died, the last one included; undefined where it survives. */
  readonly killedAfter: number | undefined
  /** What caught it. */
  readonly invariant: Invariant | 'hang' | undefined
  readonly message: string | undefined
}

/** Runs every mutant until it dies, on all cores, and tells of each in the order of the list. */
export async function hunt(seed: number, tell: (hunted: Hunted) => void, which = mutants): Promise<void> {
  const results: (Hunted | undefined)[] = []
  let next = 0
  let told = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < which.length; at = next++) {
      results[at] = await huntOne(which[at] as Mutant, seed)
      for (let result = results[told]; result !== undefined; result = results[++told]) tell(result)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
}

async function huntOne(mutant: Mutant, seed: number): Promise<Hunted> {
  const thread = new SimulationThread(mutant)
  try {
    const job = { from: seed, count: MAX_SCHEDULES, untilFailure: true }
    const { tally, failedAfter } = await thread.run(job, HANG_MS)
    const [failure] = tally.failures
    return { mutant, killedAfter: failedAfter, invariant: failure?.invariant, message: failure?.message }
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('it hangs')) throw error
    return { mutant, killedAfter: MAX_SCHEDULES, invariant: 'hang', message: error.message }
  } finally {
    await thread.close()
  }
}

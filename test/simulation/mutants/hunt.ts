import { availableParallelism } from 'node:os'
import type { Kept } from '../kept.js'
import { SimulationProcess } from '../pool.js'
import type { Shrunk } from '../shrink.js'
import type { Invariant } from '../stage.js'
import { mutants } from './index.js'
import type { Mutant } from './mutate.js'

/** A mutant that lives longer than this survives, unless somebody asks for less. */
export const MAX_SCHEDULES = 1_000
/** How long a mutant may take for that; one that takes longer is no kill. */
const HANG_MS = 180_000
/** Schedules of several sources take so many times as long. */
const LONGER = 4

export interface Hunted {
  readonly mutant: Mutant
  /** Schedules until it died, the last one included; undefined where it survives. */
  readonly killedAfter: number | undefined
  /** What caught it. */
  readonly invariant: Invariant | 'unclear' | undefined
  readonly message: string | undefined
  /** The schedule that killed it, as short as it gets, where that was asked for. */
  readonly shrunk: Shrunk | undefined
}

export interface HuntOptions {
  /** Default: all. */
  readonly which?: readonly Mutant[]
  /** Makes the schedule that kills a mutant as short as it gets. */
  readonly shrinks?: boolean
  /** In how many schedules a mutant has to die. Default `MAX_SCHEDULES`. */
  readonly schedules?: number
}

/** Runs every mutant until it dies, on all cores, and tells of each in the order of the list. */
export async function hunt(seed: number, tell: (hunted: Hunted) => void, options: HuntOptions = {}): Promise<void> {
  const { which = mutants } = options
  const results: (Hunted | undefined)[] = []
  let next = 0
  let told = 0
  const work = async (): Promise<void> => {
    for (let at = next++; at < which.length; at = next++) {
      results[at] = await huntOne(which[at] as Mutant, seed, options)
      for (let result = results[told]; result !== undefined; result = results[++told]) tell(result)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
}

/** What a kept schedule breaks in the mutant for which it was kept. */
export async function rerun(mutant: Mutant, { kind, seed, only }: Kept): Promise<Invariant | undefined> {
  const thread = new SimulationProcess(mutant)
  try {
    const { tally } = await thread.run({ kind, from: seed, count: 1, untilFailure: true, only }, HANG_MS)
    return tally.failures[0]?.invariant
  } finally {
    await thread.close()
  }
}

async function huntOne(
  mutant: Mutant,
  seed: number,
  { shrinks = false, schedules = MAX_SCHEDULES }: HuntOptions,
): Promise<Hunted> {
  const thread = new SimulationProcess(mutant)
  try {
    const job = {
      kind: mutant.kind,
      from: seed,
      count: schedules,
      untilFailure: shrinks ? 'shrunk' : true,
    } as const
    const hangMs = HANG_MS * (mutant.kind === undefined ? 1 : LONGER)
    const { tally, failedAfter, shrunk } = await thread.run(job, hangMs)
    const [failure] = tally.failures
    return { mutant, killedAfter: failedAfter, invariant: failure?.invariant, message: failure?.message, shrunk }
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('it hangs')) throw error
    // It may hang, and the machine may be busy: nobody can tell.
    return { mutant, killedAfter: undefined, invariant: 'unclear', message: error.message, shrunk: undefined }
  } finally {
    await thread.close()
  }
}

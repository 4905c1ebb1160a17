import { availableParallelism } from 'node:os'
import type { RegressionSeed } from '../simulation/runner/regression-seeds.js'
import type { Shrunk } from '../simulation/runner/shrink.js'
import { SimulationProcess } from '../simulation/runner/worker-process.js'
import type { Invariant } from '../simulation/system/scenario.js'
import { mutants } from './index.js'
import type { Mutant } from './mutant.js'
import { MutantTests } from './test-process.js'
import { firstFailure, runTests, TEST_TIMEOUT_MS } from './tests.js'

/** The judges of a mutant: the unit tests, the property tests and the schedules of the simulator. */
export const layers = ['unit', 'property', 'simulator'] as const
export type Layer = (typeof layers)[number]

/** A mutant that lives longer than this survives, unless it or the caller sets another limit. */
const MAX_SCHEDULES = 1_000
/** How long a mutant may take for that, beside other work. One that takes longer does not count as killed. */
const HANG_MS = 600_000
/** Schedules of several sources take this many times as long. */
const LONGER = 4

export interface Verdict {
  readonly layer: Layer
  readonly isKilled: boolean
  readonly seconds: number
  /** Schedules until it died, the last one included; undefined in other layers, and if it survives. */
  readonly killedAfter?: number | undefined
  /** The invariant that was broken, or the test that failed: the one that the mutant names, or the first. */
  readonly by: string | undefined
  readonly message?: string | undefined
}

export interface Hunted {
  readonly mutant: Mutant
  /** One for each layer that judged it, in this order. */
  readonly verdicts: readonly Verdict[]
  /** The schedule that killed it, as short as it gets, if `shrinks` is set. */
  readonly shrunk: Shrunk | undefined
}

/** Whether no layer that judged it kills it, although it does not behave as the original. */
export function survives({ mutant, verdicts }: Hunted): boolean {
  return mutant.equivalent === undefined && !verdicts.some(({ isKilled }) => isKilled)
}

export interface HuntOptions {
  readonly which?: readonly Mutant[]
  /**
   * Each of these judges every mutant. Default: the layer that is expected to kill the mutant judges it first, and the
   * others only if it survives that layer.
   */
  readonly layers?: readonly Layer[] | undefined
  /** Makes the schedule that kills a mutant as short as it gets. */
  readonly shrinks?: boolean
  /** In how many schedules a mutant has to die. Default: the limit of the mutant, or `MAX_SCHEDULES`. */
  readonly schedules?: number | undefined
}

/** Runs every mutant until it is killed, on all cores, and reports each in the order of the list. */
export async function hunt(seed: number, report: (hunted: Hunted) => void, options: HuntOptions = {}): Promise<void> {
  const { which = mutants } = options
  const results: (Hunted | undefined)[] = []
  let next = 0
  let reported = 0
  const work = async (): Promise<void> => {
    const tests = new MutantTests()
    try {
      for (let at = next++; at < which.length; at = next++) {
        results[at] = await huntOne(which[at] as Mutant, { ...options, seed, tests })
        for (let result = results[reported]; result !== undefined; result = results[++reported]) report(result)
      }
    } finally {
      await tests.close()
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
}

/** Returns the invariant that a kept schedule breaks in the mutant for which it was kept. */
export async function rerun(mutant: Mutant, { kind, seed, only }: RegressionSeed): Promise<Invariant | undefined> {
  const thread = new SimulationProcess(mutant)
  try {
    const { stats } = await thread.run({ kind, from: seed, count: 1, untilFailure: true, only }, HANG_MS)
    return stats.failures[0]?.invariant
  } finally {
    await thread.close()
  }
}

interface Hunt extends HuntOptions {
  readonly seed: number
  readonly tests: MutantTests
}

async function huntOne(mutant: Mutant, options: Hunt): Promise<Hunted> {
  const verdicts: Verdict[] = []
  let shrunk: Shrunk | undefined
  for (const layer of options.layers ?? likeliestFirst(mutant)) {
    if (options.layers === undefined && verdicts.some(({ isKilled }) => isKilled)) break
    const since = performance.now()
    const { shrunk: schedule, ...found } = await verdictOf(layer, mutant, options).catch(unclear)
    verdicts.push({ layer, isKilled: false, ...found, seconds: (performance.now() - since) / 1_000 })
    shrunk ??= schedule
  }
  return { mutant, verdicts, shrunk }
}

/** All layers, the one that has to kill the mutant first. */
function likeliestFirst({ onlyBy }: Mutant): Layer[] {
  const first = layers.find((layer) => onlyBy?.test.startsWith(`${layer}/`)) ?? 'simulator'
  return [first, ...layers.filter((layer) => layer !== first)]
}

type Found = Partial<Verdict> & Pick<Verdict, 'by'> & { readonly shrunk?: Shrunk | undefined }

/** It may hang, or the machine may be busy: there is no way to decide. */
function unclear(error: unknown): Found {
  if (!(error instanceof Error) || !error.message.includes('it hangs')) throw error
  return { by: 'unclear', message: error.message }
}

async function verdictOf(layer: Layer, mutant: Mutant, options: Hunt): Promise<Found> {
  if (layer === 'simulator') return inSchedules(mutant, options)
  const { onlyBy } = mutant
  if (onlyBy?.test.startsWith(`${layer}/`)) {
    const by = await options.tests.failureOf(mutant, onlyBy)
    if (by !== undefined) return { isKilled: true, by }
  }
  const args = ['--project', layer, '--maxWorkers=1', '--no-isolate', `--testTimeout=${TEST_TIMEOUT_MS}`, '--bail=1']
  const by = firstFailure(await runTests(mutant, args))
  return { isKilled: by !== undefined, by }
}

async function inSchedules(mutant: Mutant, options: Hunt): Promise<Found> {
  const { kind } = mutant
  const thread = new SimulationProcess(mutant)
  try {
    const job = {
      kind,
      from: options.seed,
      count: options.schedules ?? mutant.maxSchedules ?? MAX_SCHEDULES,
      untilFailure: options.shrinks ? 'shrunk' : true,
    } as const
    const hangMs = HANG_MS * (mutant.kind === undefined ? 1 : LONGER)
    const { stats, failedAfter, shrunk } = await thread.run(job, hangMs)
    const [failure] = stats.failures
    const { invariant: by, message } = failure ?? {}
    return { isKilled: failedAfter !== undefined, killedAfter: failedAfter, by, message, shrunk }
  } finally {
    await thread.close()
  }
}

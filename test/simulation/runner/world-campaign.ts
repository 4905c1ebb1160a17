import { availableParallelism } from 'node:os'
import type { Mutant } from '../../mutants/mutant.js'
import { add, emptyStats, type RunStats } from './run-stats.js'
import { SimulationProcess } from './worker-process.js'
import type { WorldKind } from './world-kinds.js'
import type { World, WorldOutcome } from './world-worker.js'

export interface WorldCampaign {
  readonly kind: WorldKind
  readonly runs: number
  readonly seed: number
  /** No schedule is begun after this many minutes. */
  readonly minutes: number
  readonly mutant?: Mutant | undefined
}

/** Runs schedules of a world on all cores: `chunk` of them in a process between two reports. */
export async function worldCampaign(
  { kind, runs, seed, minutes, mutant }: WorldCampaign,
  chunk: number,
): Promise<RunStats> {
  const until = performance.now() + 60_000 * minutes
  const stats = emptyStats()
  let next = seed
  const work = async (): Promise<void> => {
    const process = new SimulationProcess(mutant, kind)
    try {
      while (next < seed + runs && performance.now() < until) {
        const from = next
        const count = Math.min(chunk, seed + runs - from)
        next += count
        add(stats, (await process.run({ from, count, untilFailure: false })).stats)
      }
    } finally {
      await process.close()
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), Math.ceil(runs / chunk)) }, work))
  return stats
}

/** Runs schedules and prints a report; of one schedule, its story. The process fails if a schedule fails. */
export async function runWorlds(
  campaign: WorldCampaign,
  chunk: number,
  world: World<WorldOutcome>,
  healed: (stats: RunStats) => string,
): Promise<void> {
  if (campaign.runs === 1) {
    const { violation, steps } = await world(campaign.seed, (line) => console.log(line))
    console.log(
      `\nseed ${campaign.seed}: ${steps} steps, ${violation === undefined ? 'nothing is broken' : violation.message}`,
    )
    if (violation !== undefined) process.exitCode = 1
    return
  }
  const since = performance.now()
  const stats = await worldCampaign(campaign, chunk)
  const { schedules, steps, virtualMs, actions, failures } = stats
  const seconds = (performance.now() - since) / 1_000
  console.log(
    `${schedules} schedules of ${campaign.kind}, ${steps} steps, ${failures.length} failures, ${seconds.toFixed(1)} s`,
  )
  console.log(`${(virtualMs / 3_600_000).toFixed(0)} hours of virtual time; ${healed(stats)}`)
  for (const [what, times] of Object.entries(actions)) console.log(`${String(times).padStart(12)} ${what}`)
  for (const { seed, message } of failures.slice(0, 10))
    console.error(`\nseed ${seed}: ${message}\n  npm run sim -- --runs 1 --seed ${seed} --kind ${campaign.kind}`)
  if (failures.length > 0 || schedules === 0) process.exitCode = 1
}

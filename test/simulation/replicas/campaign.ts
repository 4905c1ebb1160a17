import { availableParallelism } from 'node:os'
import type { Mutant } from '../mutants/mutate.js'
import { add, emptyStats, type RunStats } from '../runner/run-stats.js'
import { SimulationProcess } from '../runner/worker-process.js'
import { runReplicas } from './replica-world.js'

/** The number of schedules that a process runs between two reports. */
const CHUNK = 1_000

export interface ReplicaCampaign {
  readonly runs: number
  readonly seed: number
  /** No schedule is begun after this many minutes. */
  readonly minutes: number
  readonly mutant?: Mutant | undefined
}

/** Runs schedules of replicas on all cores. `maxHealMs` of the result is in leases. */
export async function replicaCampaign({ runs, seed, minutes, mutant }: ReplicaCampaign): Promise<RunStats> {
  const until = performance.now() + 60_000 * minutes
  const stats = emptyStats()
  let next = seed
  const work = async (): Promise<void> => {
    const process = new SimulationProcess(mutant, 'replicas')
    try {
      while (next < seed + runs && performance.now() < until) {
        const from = next
        const count = Math.min(CHUNK, seed + runs - from)
        next += count
        add(stats, (await process.run({ from, count, untilFailure: false })).stats)
      }
    } finally {
      await process.close()
    }
  }
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), Math.ceil(runs / CHUNK)) }, work))
  return stats
}

/** Runs schedules and prints a report; of one schedule, its story. The process fails if a schedule fails. */
export async function runReplicaCampaign(campaign: ReplicaCampaign): Promise<void> {
  if (campaign.runs === 1) {
    const { violation, steps } = runReplicas(campaign.seed, (line) => console.log(line))
    console.log(
      `\nseed ${campaign.seed}: ${steps} steps, ${violation === undefined ? 'nothing is broken' : violation.message}`,
    )
    if (violation !== undefined) process.exitCode = 1
    return
  }
  const since = performance.now()
  const { schedules, steps, virtualMs, maxHealMs, actions, failures } = await replicaCampaign(campaign)
  const seconds = (performance.now() - since) / 1_000
  console.log(
    `${schedules} schedules of replicas, ${steps} steps, ${failures.length} failures, ${seconds.toFixed(1)} s`,
  )
  console.log(
    `${(virtualMs / 3_600_000).toFixed(0)} hours of virtual time; all healed within ${maxHealMs.toFixed(2)} leases`,
  )
  for (const [what, times] of Object.entries(actions)) console.log(`${String(times).padStart(12)} ${what}`)
  for (const { seed, message } of failures.slice(0, 10))
    console.error(`\nseed ${seed}: ${message}\n  npm run sim -- --runs 1 --seed ${seed} --kind replicas`)
  if (failures.length > 0 || schedules === 0) process.exitCode = 1
}

import type { Mutant } from '../../mutants/mutant.js'
import type { RunStats } from '../runner/run-stats.js'
import { runWorlds, worldCampaign } from '../runner/world-campaign.js'
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
export function replicaCampaign(campaign: ReplicaCampaign): Promise<RunStats> {
  return worldCampaign({ ...campaign, kind: 'replicas' }, CHUNK)
}

export async function runReplicaCampaign(campaign: ReplicaCampaign): Promise<void> {
  await runWorlds(
    { ...campaign, kind: 'replicas' },
    CHUNK,
    runReplicas,
    ({ maxHealMs }) => `all healed within ${maxHealMs.toFixed(2)} leases`,
  )
}

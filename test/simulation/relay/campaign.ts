import type { RunStats } from '../runner/run-stats.js'
import { runWorlds, type WorldCampaign, worldCampaign } from '../runner/world-campaign.js'
import { runRelays } from './relay-world.js'

/** The number of schedules that a process runs between two reports. */
const CHUNK = 50

/** Runs schedules of relays on all cores. */
export function relayCampaign(campaign: Omit<WorldCampaign, 'kind'>): Promise<RunStats> {
  return worldCampaign({ ...campaign, kind: 'relay' }, CHUNK)
}

export async function runRelayCampaign(campaign: Omit<WorldCampaign, 'kind'>): Promise<void> {
  await runWorlds({ ...campaign, kind: 'relay' }, CHUNK, runRelays, () => 'every follower has converged')
}

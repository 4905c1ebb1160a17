import type { RunStats } from '../runner/run-stats.js'
import { runWorlds, type WorldCampaign, worldCampaign } from '../runner/world-campaign.js'
import { runShare } from './share-world.js'

/** The number of schedules that a process runs between two reports. */
const CHUNK = 50

/** Runs schedules of a share on all cores. */
export function shareCampaign(campaign: Omit<WorldCampaign, 'kind'>): Promise<RunStats> {
  return worldCampaign({ ...campaign, kind: 'share' }, CHUNK)
}

export async function runShareCampaign(campaign: Omit<WorldCampaign, 'kind'>): Promise<void> {
  await runWorlds({ ...campaign, kind: 'share' }, CHUNK, runShare, () => 'every follower has converged')
}

import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import { drawn } from './draw.js'
import type { Outcome } from './fault-campaign.js'

/** Of the variable `LISTWATCH_<name>_SEED`, or another one at each run. */
export function seedOf(name: string): number {
  return Number(process.env[`LISTWATCH_${name}_SEED`] ?? randomInt(1_000_000))
}

/** The checks of all campaigns of a backend, by the variable `LISTWATCH_<name>_CHECKS`. */
export function checksOf(name: string, checks: number): number {
  return Number(process.env[`LISTWATCH_${name}_CHECKS`] ?? checks)
}

export interface FuzzCampaign {
  readonly title: string
  readonly checks: number
  run(of: { readonly seed: number; readonly checks: number }): Promise<Outcome>
}

/** A test for each campaign. Its seed is that of the backend and its position: what one finds is not found again by chance. */
export function testCampaigns(name: string, timeoutMs: number, campaigns: readonly FuzzCampaign[]): void {
  const first = seedOf(name)
  const all = campaigns.map((campaign, at) => ({ ...campaign, seed: first + at }))
  test.concurrent.each(drawn(all))('$title', { retry: 0, timeout: timeoutMs }, async ({ title, seed, checks, run }) => {
    process.stdout.write(`fuzz: ${title}, LISTWATCH_${name}_SEED=${seed}, ${checks} checks\n`)
    const { divergences, ...counts } = await run({ seed, checks })
    process.stdout.write(`fuzz: ${title}, seed ${seed}: ${JSON.stringify(counts)}\n`)
    expect(divergences, `seed ${seed}`).toEqual([])
    expect(counts.checks).toBeGreaterThanOrEqual(checks)
    expect(counts.writes).toBeGreaterThan(2 * checks)
    expect(counts.missing).toEqual([])
  })
}

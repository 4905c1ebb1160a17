import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { runOne } from './interleaved-runner.js'
import { type Failure, failureOf } from './run-stats.js'
import type { Shrunk } from './shrink.js'

/** Schedules that failed once, and those that killed a mutant that few others kill; they are always run first. */
const folder = new URL('../seeds/', import.meta.url)

/** A schedule that failed; `of`: not of the production source, but of this mutant. */
export type RegressionSeed = Shrunk & { readonly of?: string }

export function regressionSeeds(): readonly RegressionSeed[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return files.sort().map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as RegressionSeed)
}

/** Returns the name of the file. */
export function storeSeed(shrunk: RegressionSeed): string {
  const { kind = 'one', invariant, seed } = shrunk
  const name = `${invariant}-${kind === 'one' ? '' : `${kind}-`}${seed}.json`
  writeFileSync(new URL(name, folder), `${JSON.stringify(shrunk, undefined, 2)}\n`)
  return `test/simulation/seeds/${name}`
}

/** Runs them as they were stored and with all decisions of their seed. Returns the failures. */
export async function rerunSeeds(): Promise<readonly Failure[]> {
  const failures: Failure[] = []
  for (const { kind = 'one', seed, only } of regressionSeeds()) {
    for (const options of [{ kind, only }, { kind }]) {
      const outcome = await runOne(seed, options)
      if (outcome.violation !== undefined) failures.push(failureOf(outcome, outcome.violation))
    }
  }
  return failures
}

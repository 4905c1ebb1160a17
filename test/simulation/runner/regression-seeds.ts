import { readFileSync, writeFileSync } from 'node:fs'
import { runOne } from './interleaved-runner.js'
import { type Failure, failureOf } from './run-stats.js'
import type { Kind } from './schedule.js'
import type { Shrunk } from './shrink.js'

/**
 * Schedules that failed once, and those that killed a mutant that few others kill, one to a line. They are always run
 * first.
 */
const file = new URL('../seeds.jsonl', import.meta.url)

/** A schedule that failed; `of`: not of the production source, but of this mutant. */
export type RegressionSeed = Omit<Shrunk, 'story'> & { readonly of?: string }

export function regressionSeeds(): readonly RegressionSeed[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as RegressionSeed)
}

/** Replaces the line of the same schedule, if there is one. Returns the path of the file. */
export function storeSeed({ kind, seed, invariant, of, message, only }: RegressionSeed): string {
  const others = regressionSeeds().filter((each) => each.kind !== kind || each.seed !== seed || each.of !== of)
  const lines = [...others, { kind, seed, invariant, of, message, only }].map((each) => `${JSON.stringify(each)}\n`)
  writeFileSync(file, lines.join(''))
  return 'test/simulation/seeds.jsonl'
}

/** Runs those of some kinds as they were stored and with all decisions of their seed. Returns the failures. */
export async function rerunSeeds(kinds: readonly Kind[]): Promise<readonly Failure[]> {
  const failures: Failure[] = []
  for (const { kind, seed, only } of regressionSeeds()) {
    if (!kinds.includes(kind)) continue
    for (const options of [{ kind, only }, { kind }]) {
      const outcome = await runOne(seed, options)
      if (outcome.violation !== undefined) failures.push(failureOf(outcome, outcome.violation))
    }
  }
  return failures
}

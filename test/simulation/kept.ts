import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { runOne } from './lanes.js'
import type { Shrunk } from './shrink.js'
import { type Failure, failureOf } from './tally.js'

/** Schedules that failed once, and those that killed a mutant which few others kill; they run first, for ever. */
const folder = new URL('./seeds/', import.meta.url)

/** A schedule that failed; `of`: not of the production source, but of this mutant. */
export type Kept = Shrunk & { readonly of?: string }

export function keptSeeds(): readonly Kept[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return files.sort().map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Kept)
}

/** Gives the name of the file. */
export function keep(shrunk: Kept): string {
  const { kind = 'one', invariant, seed } = shrunk
  const name = `${invariant}-${kind === 'one' ? '' : `${kind}-`}${seed}.json`
  writeFileSync(new URL(name, folder), `${JSON.stringify(shrunk, undefined, 2)}\n`)
  return `test/simulation/seeds/${name}`
}

/** Those that fail again: as they were kept, and with everything that their seed brings. */
export async function rerunKept(): Promise<readonly Failure[]> {
  const failures: Failure[] = []
  for (const { kind = 'one', seed, only } of keptSeeds()) {
    for (const options of [{ kind, only }, { kind }]) {
      const outcome = await runOne(seed, options)
      if (outcome.violation !== undefined) failures.push(failureOf(outcome, outcome.violation))
    }
  }
  return failures
}

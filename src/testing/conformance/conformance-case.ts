import { type ConformanceNeed, type ListerWatcherHarness, missing } from './harness.js'
import { NothingToCheck, Trial } from './trial.js'

/** What became of a case that did not fail. */
export type ConformanceOutcome = { readonly type: 'passed' } | { readonly type: 'skipped'; readonly reason: string }

/** One promise of the source contract, and how it is judged. */
export interface ConformanceCase {
  readonly theme: string
  /** A sentence of the contract. Unique. */
  readonly name: string
  readonly needs: readonly ConformanceNeed[]
  /** Judges a source; rejects where it breaks the contract, with what was seen. */
  run(harness: ListerWatcherHarness<unknown>): Promise<ConformanceOutcome>
}

/** How a case is written down. */
export interface CaseDefinition {
  readonly name: string
  readonly needs?: readonly ConformanceNeed[]
  /** How often a silent watch should speak, in milliseconds. Default: so rarely that nobody relies on it. */
  readonly heartbeatMs?: number
  check(trial: Trial): Promise<void>
}

const SELDOM_MS = 60_000

export function casesOf(theme: string, definitions: readonly CaseDefinition[]): readonly ConformanceCase[] {
  return definitions.map((definition) => ({
    theme,
    name: definition.name,
    needs: definition.needs ?? [],
    run: (harness) => judge(definition, harness),
  }))
}

async function judge(
  { name, needs = [], heartbeatMs = SELDOM_MS, check }: CaseDefinition,
  harness: ListerWatcherHarness<unknown>,
): Promise<ConformanceOutcome> {
  for (const need of needs) {
    const reason = harness.lacks?.[need]
    if (reason !== undefined) return { type: 'skipped', reason }
  }
  const trial = await Trial.begin(harness, { heartbeatMs })
  try {
    for (const need of needs) {
      const flaw = missing(need, trial.subject)
      if (flaw !== undefined)
        throw new Error(`${flaw}: it is needed for "${name}". Add it, or say why not in lacks.${need}`)
    }
    await check(trial)
    return { type: 'passed' }
  } catch (error) {
    if (error instanceof NothingToCheck) return { type: 'skipped', reason: error.message }
    throw error
  } finally {
    await trial.end()
  }
}

import { flushCompileCache } from 'node:module'
import type { Defect } from '../../mutants/mutant.js'
import type { Job, JobDone } from './worker.js'
import type { WorldKind } from './world-kinds.js'

/** The result of one schedule of a world: a program of its own, with rules of its own. */
export interface WorldOutcome {
  readonly steps: number
  readonly virtualMs: number
  readonly trace: number
  /** How often each action was taken. */
  readonly counts: Readonly<Record<string, number>>
  /** From the end of faults until everything had converged, in leases. */
  readonly healLeases?: number
  readonly violation: { readonly rule: string; readonly message: string } | undefined
}

/** Runs the schedule of a seed. */
export type World<O> = (seed: number, onEvent?: (line: string) => void) => O | Promise<O>

/** Runs the schedules that the parent process requests. `load` imports the world after the mutant was made. */
export async function serveWorlds(kind: WorldKind, load: () => Promise<World<WorldOutcome>>): Promise<void> {
  const mutant = process.env['LISTWATCH_MUTANT'] ?? ''
  if (mutant !== '') (await import('../../mutants/mutant.js')).mutate(JSON.parse(mutant) as Defect)
  Error.stackTraceLimit = 0
  const world = await load()
  const { emptyStats, fail } = await import('./run-stats.js')
  flushCompileCache() // This process is killed at its end.

  async function perform({ from, count, untilFailure }: Job): Promise<JobDone> {
    const stats = emptyStats()
    let failedAfter: number | undefined
    for (let seed = from; seed < from + count; seed++) {
      const { steps, virtualMs, trace, counts, healLeases = 0, violation } = await world(seed)
      stats.schedules++
      stats.steps += steps
      stats.virtualMs += virtualMs
      stats.trace = (stats.trace + trace) >>> 0
      stats.maxHealMs = Math.max(stats.maxHealMs, healLeases)
      for (const [what, times] of Object.entries(counts)) stats.actions[what] = (stats.actions[what] ?? 0) + times
      if (violation === undefined) continue
      const message = `${violation.rule}: ${violation.message}`
      fail(stats, { kind, seed, isBreach: false, invariant: kind, message })
      failedAfter ??= stats.schedules
      if (untilFailure !== false) break
    }
    return { stats, failedAfter, shrunk: undefined }
  }

  process.on('message', (job: Job) => {
    void perform(job).then((done) => process.send?.(done))
  })
  process.on('disconnect', () => process.exit())
}

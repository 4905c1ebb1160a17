import { type Mutant, mutate } from '../mutants/mutate.js'
import type { Job, JobDone } from '../runner/worker.js'

// Before anything of src/ is loaded.
const mutant = process.env['LISTWATCH_MUTANT'] ?? ''
if (mutant !== '') mutate(JSON.parse(mutant) as Mutant)
Error.stackTraceLimit = 0

const { runReplicas } = await import('./replica-world.js')
const { emptyStats, fail } = await import('../runner/run-stats.js')

function perform({ from, count, untilFailure }: Job): JobDone {
  const stats = emptyStats()
  let failedAfter: number | undefined
  for (let seed = from; seed < from + count; seed++) {
    const { steps, virtualMs, trace, counts, healLeases, violation } = runReplicas(seed)
    stats.schedules++
    stats.steps += steps
    stats.virtualMs += virtualMs
    stats.trace = (stats.trace + trace) >>> 0
    stats.maxHealMs = Math.max(stats.maxHealMs, healLeases)
    for (const [what, times] of Object.entries(counts)) stats.actions[what] = (stats.actions[what] ?? 0) + times
    if (violation === undefined) continue
    const message = `${violation.rule}: ${violation.message}`
    fail(stats, { kind: 'replicas', seed, isBreach: false, invariant: 'replicas', message })
    failedAfter ??= stats.schedules
    if (untilFailure !== false) break
  }
  return { stats, failedAfter, shrunk: undefined }
}

process.on('message', (job: Job) => {
  process.send?.(perform(job))
})
process.on('disconnect', () => process.exit())

import { type Hunted, hunt, type Layer, survives } from '../../mutants/hunt.js'
import type { Mutant } from '../../mutants/mutant.js'
import { campaign, mixedKinds, type StatsByKind } from './campaign.js'
import { unreached } from './coverage-thresholds.js'
import { runOne } from './interleaved-runner.js'
import { kindTable } from './kind-table.js'
import { regressionSeeds, rerunSeeds, storeSeed } from './regression-seeds.js'
import { commandOf, countsOf, progressOf, rowsOf, summaryOf } from './report.js'
import type { Kind, Line } from './schedule.js'
import { type Shrunk, shrink, storyOf } from './shrink.js'

/** A schedule that kills a mutant is stored if it was found after at least this many schedules. */
const RARE = 100

export interface CampaignCommand {
  /** Default: those of the kind. */
  readonly runs: number | undefined
  readonly seed: number
  readonly kind: Kind | undefined
  readonly minutes: number
  readonly mutant: Mutant | undefined
  readonly json: boolean
}

/** Runs many schedules and prints a report. The process fails if a schedule fails, or if no schedule was run. */
export async function runCampaign({ seed, kind, minutes, mutant, json, ...command }: CampaignCommand): Promise<void> {
  const { runs = kindTable[kind ?? 'one'].runs ?? 50_000 } = command
  const since = performance.now()
  const which = kind === undefined ? mixedKinds : [kind]
  // The stored seeds are for the source without defects.
  const kept = mutant === undefined ? await rerunSeeds(which) : []
  const until = since + 60_000 * minutes
  const onProgress = (soFar: StatsByKind): void => {
    if (process.stderr.isTTY) process.stderr.write(`\r${progressOf(soFar, { runs, kind, since })}\u001b[K`)
  }
  const statsByKind = await campaign({ runs, seed, kind, until, mutant, onProgress })
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const seconds = (performance.now() - since) / 1_000
  const ran = statsByKind[kind ?? 'one'].schedules
  const missed = which.map((each) => unreached(statsByKind[each], each))
  const [never, notYet] = [missed.flatMap((each) => each.never), missed.flatMap((each) => each.notYet)]
  const failures = [...kept, ...which.flatMap((each) => statsByKind[each].failures)]
  if (json) {
    const { one, ...others } = statsByKind
    console.log(JSON.stringify({ ...one, failures, seconds, asked: runs, ran, never, notYet, ...others }))
  } else {
    if (ran < runs) console.log(`only ${ran} of ${runs} schedules were run: the ${minutes} minutes were over`)
    console.log(`${seconds.toFixed(1)} s, ${failures.length} failures`)
    for (const each of which) console.log(countsOf(each, statsByKind[each]))
    if (notYet.length > 0) console.log('\nnot reached, and these are too few schedules to say that it never is')
    for (const mark of notYet) console.log(`            ${mark}`)
  }
  for (const failure of failures.slice(0, 10)) {
    const { seed: failed, invariant, message } = failure
    console.error(`\nseed ${failed} breaks ${invariant}: ${message}\n  ${commandOf(failure, mutant)}`)
  }
  for (const mark of never) console.error(`\nnever reached in ${ran} schedules: ${mark}`)
  if (failures.length > 0 || never.length > 0 || ran === 0) process.exitCode = 1
}

export interface ReplayCommand {
  readonly seed: number
  readonly kind: Kind
  readonly mutant: Mutant | undefined
  readonly keep: boolean
}

export async function replay({ seed, kind, mutant, keep: keeps }: ReplayCommand): Promise<void> {
  const shrunk = await failing(seed, kind)
  if (shrunk === undefined) {
    const lines: Line[] = []
    const { steps, trace } = await runOne(seed, { kind, onEvent: (line) => lines.push(line) })
    console.log(storyOf(lines).join('\n'))
    const again = await runOne(seed, { kind })
    if (again.trace !== trace) {
      console.log(`\nseed ${seed} breaks I17: the traces ${trace} and ${again.trace} of one seed`)
      process.exitCode = 1
    } else console.log(`\nseed ${seed}: ${steps} steps, nothing is broken; the trace is ${trace}`)
    return
  }
  const { story, only: left, invariant, message } = shrunk
  console.log(story.join('\n'))
  console.log(`\nseed ${seed} breaks ${invariant}: ${message}\n${left.length} decisions are left: ${left.join(', ')}`)
  if (keeps) console.log(`kept as ${storeSeed({ ...shrunk, ...(mutant && { of: mutant.name }) })}`)
  process.exitCode = 1
}

/** The schedule of a seed, or a stored one of this seed, if it fails. */
async function failing(seed: number, kind: Kind): Promise<Shrunk | undefined> {
  const kept = regressionSeeds().filter((each) => each.seed === seed && each.kind === kind)
  for (const only of [undefined, ...kept.map((each) => each.only)]) {
    const shrunk = await shrink(seed, { kind, ...(only && { only }) })
    if (shrunk !== undefined) return shrunk
  }
  return undefined
}

export interface HuntCommand {
  readonly seed: number
  /** The number of schedules within which a mutant has to die; undefined: its own number. */
  readonly schedules: number | undefined
  readonly which: readonly Mutant[]
  /** The layers that judge every mutant; undefined: until one of them kills it. */
  readonly layers: readonly Layer[] | undefined
  readonly json: boolean
  readonly keep: boolean
}

/** Runs every mutant in these layers; the process fails if one survives. */
export async function huntMutants(command: HuntCommand): Promise<void> {
  const { seed, schedules, which, layers, json, keep: keeps } = command
  const all: Hunted[] = []
  const tell = (hunted: Hunted): void => {
    all.push(hunted)
    if (!json) console.log(rowsOf(hunted))
    const { mutant, shrunk, verdicts } = hunted
    const isKept = verdicts.some(({ killedAfter = 0 }) => killedAfter >= RARE) || mutant.needs !== undefined
    if (shrunk !== undefined && isKept) storeSeed({ ...shrunk, of: mutant.name })
  }
  await hunt(seed, tell, { schedules, layers, shrinks: keeps, which })
  if (json) console.log(JSON.stringify(all.map(({ mutant: { name }, ...hunted }) => ({ name, ...hunted }))))
  else console.log(`\n${summaryOf(all)}`)
  if (all.some(survives)) process.exitCode = 1
}

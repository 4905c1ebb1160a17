import { type Hunted, type Layer, layers, survives, type Verdict } from '../../mutants/hunt.js'
import type { Mutant } from '../../mutants/mutant.js'
import { classes, type FaultClass } from '../backend/fault-kinds.js'
import type { StatsByKind } from './campaign.js'
import { kindTable } from './kind-table.js'
import type { Failure, RunStats } from './run-stats.js'
import { type Kind, kinds } from './schedule.js'

const SOURCES: Readonly<Record<FaultClass, string>> = {
  contract: 'with sources that keep their promises',
  breach: 'with a source that breaks its promises',
}
const FAULTS: Readonly<Record<FaultClass, string>> = {
  contract: 'faults within the contract of a source, how often',
  breach: 'breaches of the contract of a source, how often',
}

/** The shell command that runs a schedule again. */
export function commandOf({ kind, seed }: Pick<Failure, 'kind' | 'seed'>, mutant?: Mutant): string {
  const ofKind = kind === 'one' ? '' : ` --kind ${kind}`
  const ofMutant = mutant === undefined ? '' : ` --mutant '${mutant.name.replaceAll("'", `'\\''`)}'`
  return `npm run sim -- --runs 1 --seed ${seed}${ofKind}${ofMutant}`
}

export function countsOf(kind: Kind, stats: RunStats): string {
  const { schedules, steps, trace, virtualMs, actions, marks, failures, maxHealMs } = stats
  const [hours, healed] = [(virtualMs / 3_600_000).toFixed(0), (maxHealMs / 1_000).toFixed(1)]
  return [
    `\n${schedules} schedules of ${kindTable[kind].of}, ${steps} steps, ${failures.length} failures`,
    ...classes.map((each) => {
      const { schedules: many, steps: long, failures: failed } = stats.classes[each]
      return `${String(many).padStart(10)}  ${SOURCES[each]}, ${long} steps, ${failed} failures`
    }),
    `the trace of all is ${trace}`,
    `${hours} virtual hours; right again after ${healed} s at most`,
    ...classes.flatMap((each) => table(FAULTS[each], stats.faults[each])),
    ...table('what writers and users did, how often', actions),
    ...table('interesting states, in how many schedules', marks),
  ].join('\n')
}

function table(title: string, counts: Readonly<Record<string, number>>): string[] {
  const rows = Object.entries(counts).sort(([, a], [, b]) => b - a)
  return rows.length === 0 ? [] : ['', title, ...rows.map(([name, times]) => `${String(times).padStart(10)}  ${name}`)]
}

/** The name of a mutant, and a line for each layer. */
export function rowsOf(hunted: Hunted): string {
  const { name, equivalent } = hunted.mutant
  const fate = survives(hunted) ? '  SURVIVES' : equivalent === undefined ? '' : `  equivalent: ${equivalent}`
  return [`${name}${fate}`, ...hunted.verdicts.map(rowOf)].join('\n')
}

function rowOf({ layer, isKilled, killedAfter, seconds, by }: Verdict): string {
  const after = killedAfter === undefined ? '' : `, ${killedAfter} schedules`
  const how = `${seconds.toFixed(1)} s${after}`
  return `    ${layer.padEnd(10)} ${isKilled ? `killed after ${how}: ${by}` : `${by ?? 'survives'} (${how})`}`
}

/** How many mutants each layer kills, and how many survive all of them. */
export function summaryOf(all: readonly Hunted[]): string {
  const killedBy = (layer: Layer): number =>
    all.filter(({ verdicts }) => verdicts.some((each) => each.layer === layer && each.isKilled)).length
  const used = layers.filter((layer) => all.some(({ verdicts }) => verdicts.some((each) => each.layer === layer)))
  const kills = used.map((layer) => `${layer} kills ${killedBy(layer)}`)
  return `${all.length} mutants, ${all.filter(survives).length} of them survive; ${kills.join(', ')}`
}

export function progressOf(
  statsByKind: StatsByKind,
  { runs, kind, since }: { readonly runs: number; readonly kind: Kind | undefined; readonly since: number },
): string {
  const { schedules } = statsByKind[kind ?? 'one']
  const failures = kinds.reduce((sum, each) => sum + statsByKind[each].failures.length, 0)
  const width = 30
  const done = Math.round((width * schedules) / runs)
  const rate = Math.round(schedules / ((performance.now() - since) / 1_000))
  const bar = '█'.repeat(done) + '░'.repeat(width - done)
  return `${bar} ${schedules} of ${runs}, ${rate}/s, ${failures} failures`
}

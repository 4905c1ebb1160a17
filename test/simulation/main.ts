// npm run sim -- [--runs N] [--minutes M] [--seed S] [--kind K] [--json] | --runs 1 --seed S [--kind K] [--keep] | --mutants [--json] [--keep]
import { parseArgs } from 'node:util'
import { campaign, type Tallies } from './campaign.js'
import { keep, rerunKept } from './kept.js'
import { runOne } from './lanes.js'
import { type Hunted, hunt } from './mutants/hunt.js'
import { type Kind, kinds, type Line } from './schedule.js'
import { shrink, storyOf } from './shrink.js'
import { missing, type Tally } from './tally.js'

/** What took so many schedules to kill a mutant is worth keeping. */
const RARE = 100
/** With fewer schedules than this it is no wonder if something rare is never reached. */
const ALL_MARKS_IN = 20_000
/** The same for what is run beside, of a few seeds. */
const ALL_BESIDE_IN = 50_000

const OF: Readonly<Record<Kind, string>> = { one: 'one source', set: 'several sources', group: 'groups' }

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '50000' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
  },
})
const only = kindNamed(values.kind)
const [runs, seed] = [wholeNumber('runs', values.runs), wholeNumber('seed', values.seed)]
const minutes = values.minutes === undefined ? Infinity : wholeNumber('minutes', values.minutes)
if (values.mutants) await runMutants()
else if (runs === 1) await replay(only ?? 'one', seed)
else await runCampaign()

function kindNamed(name: string | undefined): Kind | undefined {
  const kind = kinds.find((each) => each === name)
  if (kind !== undefined || name === undefined) return kind
  console.error(`sim: --kind must be one of ${kinds.join(', ')}, got "${name}"`)
  process.exit(2)
}

function wholeNumber(name: string, value: string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 1) return number
  console.error(`sim: --${name} must be a whole number above 0, got "${value}"`)
  process.exit(2)
}

async function runCampaign(): Promise<void> {
  const since = performance.now()
  const kept = await rerunKept()
  const until = since + 60_000 * minutes
  const tallies = await campaign({ runs, seed, kind: only, until, onProgress: (soFar) => progress(soFar, since) })
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  const seconds = (performance.now() - since) / 1_000
  const ran = only === undefined ? kinds : [only]
  const ranOf = Math.max(...ran.map((kind) => tallies[kind].schedules))
  if (ranOf < runs) console.error(`${ranOf} of ${runs} schedules were run: the ${minutes} minutes were over`)
  const isMany = (kind: Kind): boolean => ranOf >= (kind === 'one' || only !== undefined ? ALL_MARKS_IN : ALL_BESIDE_IN)
  const never = ran.filter(isMany).flatMap((kind) => missing(tallies[kind], kind))
  const failures = [...kept, ...ran.flatMap((kind) => tallies[kind].failures)]
  if (values.json) {
    const { one, set, group } = tallies
    console.log(JSON.stringify({ ...one, failures, seconds, never, set, group }))
  } else {
    console.log(`${seconds.toFixed(1)} s, ${failures.length} failures`)
    for (const kind of ran) report(kind, tallies[kind])
  }
  for (const { kind, seed: failed, invariant, message } of failures.slice(0, 10)) {
    console.error(`\nseed ${failed} breaks ${invariant}: ${message}\n  ${commandOf(kind, failed)}`)
  }
  for (const mark of never) console.error(`\nnever reached in ${ranOf} schedules: ${mark}`)
  if (failures.length > 0 || never.length > 0) process.exitCode = 1
}

/** What runs a schedule again. */
function commandOf(kind: Kind, of: number): string {
  return `npm run sim -- --runs 1 --seed ${of}${kind === 'one' ? '' : ` --kind ${kind}`}`
}

function report(kind: Kind, tally: Tally): void {
  const { schedules, breaches, steps, trace, virtualMs, faults, marks, failures, maxHealMs } = tally
  console.log(`\n${schedules} schedules of ${OF[kind]}, ${steps} steps, ${failures.length} failures`)
  console.log(`the trace of all is ${trace}`)
  if (breaches > 0) console.log(`${breaches} of them of sources that break their promises`)
  console.log(
    `${(virtualMs / 3_600_000).toFixed(0)} virtual hours; right again after ${(maxHealMs / 1_000).toFixed(1)} s at most`,
  )
  console.log('\nwhat happened, how often')
  for (const [fault, times] of sorted(faults)) console.log(`${String(times).padStart(10)}  ${fault}`)
  console.log('\ninteresting states, in how many schedules')
  for (const [mark, times] of sorted(marks)) console.log(`${String(times).padStart(10)}  ${mark}`)
}

function sorted(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts).sort(([, a], [, b]) => b - a)
}

/** Runs one schedule, and tells its story: as short as it gets, where it fails. */
async function replay(kind: Kind, of: number): Promise<void> {
  const shrunk = await shrink(of, { kind })
  if (shrunk === undefined) {
    const lines: Line[] = []
    const { steps, trace } = await runOne(of, { kind, tell: (line) => lines.push(line) })
    console.log(storyOf(lines).join('\n'))
    console.log(`\nseed ${of}: ${steps} steps, nothing is broken; the trace is ${trace}`)
    return
  }
  const { story, only: left, invariant, message } = shrunk
  console.log(story.join('\n'))
  console.log(`\nseed ${of} breaks ${invariant}: ${message}\n${left.length} decisions are left: ${left.join(', ')}`)
  if (values.keep) console.log(`kept as ${keep(shrunk)}`)
  process.exitCode = 1
}

async function runMutants(): Promise<void> {
  const all: Hunted[] = []
  const tell = (hunted: Hunted): void => {
    all.push(hunted)
    if (!values.json) console.log(row(hunted))
    const { mutant, killedAfter = 0, shrunk } = hunted
    if (shrunk !== undefined && killedAfter >= RARE) keep({ ...shrunk, of: mutant.name })
  }
  await hunt(seed, tell, { shrinks: values.keep })
  const survivors = all.filter(
    ({ mutant, killedAfter }) => killedAfter === undefined && mutant.equivalent === undefined,
  )
  if (values.json) console.log(JSON.stringify(all.map(({ mutant, ...hunted }) => ({ name: mutant.name, ...hunted }))))
  else console.log(`\n${all.length} mutants, ${survivors.length} of them survive`)
  if (survivors.length > 0) process.exitCode = 1
}

function row({ mutant, killedAfter, invariant }: Hunted): string {
  const died = killedAfter === undefined ? (mutant.equivalent === undefined ? 'SURVIVES' : 'equivalent') : killedAfter
  return `${mutant.name.padEnd(44)} ${String(died).padStart(10)}  ${invariant ?? mutant.equivalent ?? ''}`
}

function progress(tallies: Tallies, since: number): void {
  if (!process.stderr.isTTY) return
  const { schedules } = tallies[only ?? 'one']
  const failures = kinds.reduce((sum, kind) => sum + tallies[kind].failures.length, 0)
  const width = 30
  const done = Math.round((width * schedules) / runs)
  const rate = Math.round(schedules / ((performance.now() - since) / 1_000))
  const bar = '█'.repeat(done) + '░'.repeat(width - done)
  process.stderr.write(`\r${bar} ${schedules} of ${runs}, ${rate}/s, ${failures} failures\u001b[K`)
}

// npm run sim -- [--runs N] [--seed S] [--json] | --runs 1 --seed S [--keep] | --mutants [--json] [--keep]
import { parseArgs } from 'node:util'
import { campaign } from './campaign.js'
import { keep, rerunKept } from './kept.js'
import { runOne } from './lanes.js'
import { type Hunted, hunt } from './mutants/hunt.js'
import type { Line } from './schedule.js'
import { shrink, storyOf } from './shrink.js'
import { missing, type Tally } from './tally.js'

/** What took so many schedules to kill a mutant is worth keeping. */
const RARE = 100
/** With fewer schedules than this it is no wonder if something rare is never reached. */
const ALL_MARKS_IN = 20_000

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '50000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
  },
})
const [runs, seed] = [wholeNumber('runs', values.runs), wholeNumber('seed', values.seed)]
if (values.mutants) await runMutants()
else if (runs === 1) await replay(seed)
else await runCampaign()

function wholeNumber(name: string, value: string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 1) return number
  console.error(`sim: --${name} must be a whole number above 0, got "${value}"`)
  process.exit(2)
}

async function runCampaign(): Promise<void> {
  const since = performance.now()
  const kept = await rerunKept()
  const tally = await campaign({ runs, seed, onProgress: (soFar) => progress(soFar, since) })
  if (process.stderr.isTTY) process.stderr.write('\r\u001b[K')
  tally.failures.unshift(...kept)
  const never = runs < ALL_MARKS_IN ? [] : missing(tally)
  const seconds = (performance.now() - since) / 1_000
  if (values.json) console.log(JSON.stringify({ ...tally, seconds, never }))
  else report(tally, seconds)
  for (const { seed: failed, invariant, message } of tally.failures.slice(0, 10)) {
    console.error(`\nseed ${failed} breaks ${invariant}: ${message}\n  npm run sim -- --runs 1 --seed ${failed}`)
  }
  for (const mark of never) console.error(`\nnever reached in ${runs} schedules: ${mark}`)
  if (tally.failures.length > 0 || never.length > 0) process.exitCode = 1
}

function report(tally: Tally, seconds: number): void {
  const { schedules, breaches, steps, trace, virtualMs, faults, marks, failures, maxHealMs } = tally
  const rate = Math.round(schedules / seconds)
  console.log(
    `${schedules} schedules in ${seconds.toFixed(1)} s (${rate}/s), ${steps} steps, ${failures.length} failures`,
  )
  console.log(`the trace of all is ${trace}`)
  console.log(`${breaches} of them of sources that break their promises`)
  console.log(
    `${(virtualMs / 3_600_000).toFixed(0)} virtual hours; right again after ${(maxHealMs / 1_000).toFixed(1)} s at most`,
  )
  console.log('\nwhat happened, how often')
  for (const [kind, times] of sorted(faults)) console.log(`${String(times).padStart(10)}  ${kind}`)
  console.log('\ninteresting states, in how many schedules')
  for (const [mark, times] of sorted(marks)) console.log(`${String(times).padStart(10)}  ${mark}`)
}

function sorted(counts: Readonly<Record<string, number>>): [string, number][] {
  return Object.entries(counts).sort(([, a], [, b]) => b - a)
}

/** Runs one schedule, and tells its story: as short as it gets, where it fails. */
async function replay(of: number): Promise<void> {
  const shrunk = await shrink(of)
  if (shrunk === undefined) {
    const lines: Line[] = []
    const { steps, trace } = await runOne(of, { tell: (line) => lines.push(line) })
    console.log(storyOf(lines).join('\n'))
    console.log(`\nseed ${of}: ${steps} steps, nothing is broken; the trace is ${trace}`)
    return
  }
  const { story, only, invariant, message } = shrunk
  console.log(story.join('\n'))
  console.log(`\nseed ${of} breaks ${invariant}: ${message}\n${only.length} decisions are left: ${only.join(', ')}`)
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

function progress({ schedules, failures }: Tally, since: number): void {
  if (!process.stderr.isTTY) return
  const width = 30
  const done = Math.round((width * schedules) / runs)
  const rate = Math.round(schedules / ((performance.now() - since) / 1_000))
  const bar = '█'.repeat(done) + '░'.repeat(width - done)
  process.stderr.write(`\r${bar} ${schedules} of ${runs}, ${rate}/s, ${failures.length} failures\u001b[K`)
}

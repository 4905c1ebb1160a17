import { type ParseArgsConfig, parseArgs } from 'node:util'
import { allMutants, foreignMutants, mutants } from '../mutants/index.js'
import { type Mutant, mutate, mutated } from '../mutants/mutant.js'
import { drawnSchedules } from '../support/draw.js'

const USAGE = `Usage: npm run sim -- [--runs N] [--minutes M] [--seed S] [--kind K] [--mutant NAME] [--json]
                      [--drawn]
       npm run sim -- --runs 1 --seed S [--kind K] [--mutant NAME] [--keep]
       npm run sim -- --mutants [--foreign] [--layers unit,property,simulator] [--runs N] [--seed S] [--mutant NAME]
                      [--json] [--keep]`

const { values } = argumentsOf({
  options: {
    help: { type: 'boolean', short: 'h', default: false },
    runs: { type: 'string' },
    minutes: { type: 'string' },
    seed: { type: 'string', default: '1' },
    kind: { type: 'string' },
    drawn: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    json: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    foreign: { type: 'boolean', default: false },
    layers: { type: 'string' },
  },
})
if (values.help) {
  console.log(USAGE)
  process.exit()
}
const seed = wholeNumber('seed', values.seed)
const requestedRuns = values.runs === undefined ? undefined : wholeNumber('runs', values.runs)
const minutes = values.minutes === undefined ? Infinity : numberOf('minutes', values.minutes)
const mutant = mutantNamed(values.mutant)
// Before any module of src/ is loaded. With --mutants, each mutant has a process of its own.
if (mutant !== undefined && !values.mutants) mutate(mutated(mutant))

const { kinds } = await import('./runner/schedule.js')
const { layers } = await import('../mutants/hunt.js')
const { huntMutants, replay, runCampaign } = await import('./runner/commands.js')
const kind = kinds.find((each) => each === values.kind) ?? (mutant === undefined ? undefined : (mutant.kind ?? 'one'))
if (values.kind !== undefined && values.kind !== kind)
  refuse(`--kind must be one of ${kinds.join(', ')}, got "${values.kind}"`)
const asLayers = values.layers?.split(',')
const unknown = asLayers?.find((name) => !layers.some((each) => each === name))
if (unknown !== undefined) refuse(`--layers must be some of ${layers.join(', ')}, got "${unknown}"`)
const chosen = asLayers && layers.filter((each) => asLayers.includes(each))
const { drawn, foreign, json, keep } = values
const which = mutant !== undefined ? [mutant] : foreign ? foreignMutants : mutants
if (values.mutants) await huntMutants({ seed, schedules: requestedRuns, which, layers: chosen, json, keep })
else if (requestedRuns === 1) await replay({ seed, kind: kind ?? 'one', mutant, keep })
else {
  const { first, count } =
    drawn && requestedRuns !== undefined ? drawnSchedules(seed, requestedRuns) : { first: seed, count: requestedRuns }
  await runCampaign({ runs: count, seed: first, kind, minutes, mutant, json })
}

function argumentsOf<const C extends ParseArgsConfig>(config: C): ReturnType<typeof parseArgs<C>> {
  try {
    return parseArgs(config)
  } catch (error) {
    return refuse(`${error instanceof Error ? error.message : error}\n${USAGE}`)
  }
}

function wholeNumber(name: string, value: string): number {
  const number = Number(value)
  if (Number.isSafeInteger(number) && number >= 1) return number
  return refuse(`--${name} must be a whole number above 0, got "${value}"`)
}

function numberOf(name: string, value: string): number {
  const number = Number(value)
  if (number > 0 && Number.isFinite(number)) return number
  return refuse(`--${name} must be a number above 0, got "${value}"`)
}

function mutantNamed(name: string | undefined): Mutant | undefined {
  if (name === undefined) return undefined
  return (
    allMutants.find((each) => each.name === name) ??
    refuse(`there is no mutant "${name}"; npm run mutants -- list names them all`)
  )
}

function refuse(why: string): never {
  console.error(`sim: ${why}`)
  process.exit(2)
}

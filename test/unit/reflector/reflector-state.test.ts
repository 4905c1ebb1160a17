import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import {
  type InputType,
  initialState,
  type ReflectorState,
  type StateName,
  type Step,
  step,
  table,
  type UntimedInput,
} from '../../../src/reflector/reflector-state.js'
import { SeededRandom } from '../../../testing/seeded-random.js'

type Chance = readonly [number, number]

/** The least and the greatest random numbers. */
const LOW: Chance = [0, 0]
const HIGH: Chance = [1, 1]

function failure(code: SourceErrorCode, retryAfterMs?: number): SourceError {
  return new SourceError(`it is ${code}`, { code, retryAfterMs })
}

function failed(
  code: SourceErrorCode,
  options: { readonly retryAfterMs?: number; readonly contactAt?: number } = {},
): UntimedInput {
  return { type: 'failed', error: failure(code, options.retryAfterMs), contactAt: options.contactAt }
}

/** The state of a reflector and its last effect. Inputs at given times change them. */
class Machine {
  last: Step = { state: initialState, effect: { type: 'continue' } }

  get state(): ReflectorState {
    return this.last.state
  }

  get openedAt(): number {
    return 'openedAt' in this.state ? this.state.openedAt : Number.NaN
  }

  /** The delay between opens, without its random part. */
  get spacingMs(): number {
    return 'spacing' in this.state ? this.state.spacing.currentMs : Number.NaN
  }

  /** The time of the next open, if the state waits. */
  get until(): number | undefined {
    return this.last.effect.type === 'wait' ? this.last.effect.until : undefined
  }

  tell(at: number, input: UntimedInput, chance: Chance = LOW): this {
    this.last = step(this.last.state, { ...input, at, chance })
    return this
  }
}

/** Returns a machine in the given state, at time 0. */
function enter(name: StateName): Machine {
  const machine = new Machine()
  const live = (): Machine => machine.tell(0, { type: 'start' }).tell(0, { type: 'listed' }).tell(0, { type: 'batch' })
  switch (name) {
    case 'idle':
      return machine
    case 'restoring':
      return machine.tell(0, { type: 'start', hasCache: true })
    case 'listing':
      return machine.tell(0, { type: 'start' })
    case 'connecting':
      return machine.tell(0, { type: 'start' }).tell(0, { type: 'listed' })
    case 'live':
      return live()
    case 'backing-off':
      return live().tell(0, failed('UNAVAILABLE'))
    case 'relisting':
      return live().tell(0, failed('VERSION_EXPIRED')).tell(0, { type: 'delayElapsed' })
    case 'failed':
      return machine.tell(0, { type: 'start' }).tell(0, failed('NOT_FOUND'))
    case 'stopped':
      return live().tell(0, { type: 'stop', reason: 'stopped' })
  }
}

const inputs: { readonly [Type in InputType]: UntimedInput } = {
  start: { type: 'start' },
  restorable: { type: 'restorable' },
  unrestorable: { type: 'unrestorable', reason: 'damaged' },
  listed: { type: 'listed' },
  batch: { type: 'batch' },
  ended: { type: 'ended' },
  failed: failed('UNAVAILABLE'),
  delayElapsed: { type: 'delayElapsed' },
  relist: { type: 'relist', reason: 'wanted' },
  admitted: { type: 'admitted' },
  stop: { type: 'stop', reason: 'enough' },
}

const LIST = { type: 'list', isFirst: false, ignoreVersions: false }

function isStateful(name: string): name is StateName {
  return name in table
}

function isInput(name: string): name is InputType {
  return name in inputs
}

/** The cells of a table of words, each with the names of its row and its column. */
function* cells(text: string): Iterable<{ readonly row: string; readonly column: string; readonly cell: string }> {
  const [head, ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
  for (const [row = '', ...words] of rows)
    for (const [i, column] of (head ?? []).entries()) yield { row, column, cell: words[i] ?? 'missing' }
}

function transitions(): string {
  const spec = readFileSync(new URL('../../../SPEC.md', import.meta.url), 'utf8')
  const [table = ''] = spec.slice(spec.indexOf('| | start |')).split('\n\n')
  return table.replace(/^\|[-|]+\n/m, '').replaceAll('|', ' ')
}

function outcome({ state, effect }: Step): string {
  return effect.type === 'continue' ? state.name : `${state.name}/${effect.type}`
}

describe('[R1][R3] every state with every input', () => {
  // `-`: nothing happens. `name`: the next state; the current work continues.
  // `name/effect`: the next state; the effect replaces the current work.
  const all = [...cells(transitions())]

  test('the table in SPEC.md is as large as the one in the code', () => {
    expect(all.map(({ row, column }) => `${row} ${column}`).sort()).toEqual(
      Object.keys(table)
        .flatMap((state) => Object.keys(inputs).map((input) => `${state} ${input}`))
        .sort(),
    )
  })

  test.each(all)('$row, $column: $cell', ({ row, column, cell }) => {
    if (!isStateful(row) || !isInput(column)) throw new Error(`${row} ${column} is not of this table`)
    const { state } = enter(row)
    const after = step(state, { ...inputs[column], at: 5, chance: LOW })
    if (cell === '-') {
      expect(after.state).toBe(state)
      expect(after.effect).toEqual({ type: 'continue' })
    } else expect(outcome(after)).toBe(cell)
  })
})

describe('[R2] every code of a failure', () => {
  // The state that waits, the next open, and `blind` if that open trusts no version.
  const answers = `
                   listing                   relisting                 connecting                live
  VERSION_EXPIRED  backing-off,list          backing-off,list          backing-off,list          backing-off,list
  EPOCH_CHANGED    backing-off,list,blind    backing-off,list,blind    backing-off,list,blind    backing-off,list,blind
  STALE_LIST       backing-off,list          backing-off,list          backing-off,list          backing-off,list
  UNAVAILABLE      backing-off,list          backing-off,list          backing-off,watch         backing-off,watch
  TIMEOUT          backing-off,list          backing-off,list          backing-off,watch         backing-off,watch
  DECODE           backing-off,list          backing-off,list          backing-off,watch         backing-off,watch
  STOPPED          backing-off,list          backing-off,list          backing-off,watch         backing-off,watch
  HANDLER          backing-off,list          backing-off,list          backing-off,watch         backing-off,watch
  UNHEARD_OF       backing-off,list          backing-off,list          backing-off,watch         backing-off,watch
  UNAUTHORIZED     failed,list               failed,list               failed,watch              failed,watch
  NOT_FOUND        failed,list               failed,list               failed,watch              failed,watch
  PROTOCOL         failed,list               failed,list               failed,watch              failed,watch
  `
  test.each([...cells(answers)])('$row while $column: $cell', ({ row, column, cell }) => {
    if (!isStateful(column)) throw new Error(`${column} is not a state`)
    const { state } = enter(column).tell(5, failed(row as SourceErrorCode))
    if (!('next' in state)) throw new Error(`${state.name} waits for nothing`)
    const { name, next } = state
    const isBlind = next.type === 'list' && next.ignoreVersions
    expect([name, next.type, ...(isBlind ? ['blind'] : [])].join()).toBe(cell)
  })
})

/** A watch that was reopened twice at 1 s. The first reconnect came at once, and failed. */
function reopened(): Machine {
  const machine = enter('live').tell(0, failed('UNAVAILABLE')).tell(0, inputs.delayElapsed)
  return machine.tell(0, failed('UNAVAILABLE')).tell(1_000, inputs.delayElapsed)
}

/** A watch that was reopened at 600 s, with the greatest spacing. */
function spaced(): Machine {
  const machine = enter('live')
  for (let at = 0; at <= 600_000; at += 100_000) machine.tell(at, failed('UNAVAILABLE')).tell(at, inputs.delayElapsed)
  expect(machine.spacingMs).toBe(30_000)
  return machine
}

/** The gaps between eight opens, of which each is followed by this input after `ms`. */
function gaps(machine: Machine, ms: number, input: UntimedInput): number[] {
  return Array.from({ length: 8 }, () => {
    const { openedAt } = machine
    const until = machine.tell(openedAt + ms, input, HIGH).until ?? Number.NaN
    machine.tell(until, inputs.delayElapsed)
    return until - openedAt
  })
}

// Each open waits for the latest of three times: the previous open + a draw from [D/2, D), the error + a draw from
// [0.4, 0.8) s, and the error + retryAfterMs. The first reconnect comes at once.
const opens: Readonly<Record<string, readonly [machine: () => Machine, until: number]>> = {
  '[R12] the first reconnect': [() => enter('live').tell(10_000, failed('UNAVAILABLE'), LOW), 10_000],
  '[R12][R15] the first reconnect at the latest': [
    () => enter('live').tell(10_000, failed('UNAVAILABLE'), HIGH),
    10_200,
  ],
  '[R12] the first reconnect after an open just before': [
    () => enter('live').tell(1, failed('UNAVAILABLE'), HIGH),
    201,
  ],
  '[R13] the first reconnect after a list': [() => enter('connecting').tell(1, failed('UNAVAILABLE'), HIGH), 201],
  '[R13] an expiry': [() => enter('live').tell(10_000, failed('VERSION_EXPIRED')), 10_400],
  '[R13] another epoch': [() => enter('live').tell(10_000, failed('EPOCH_CHANGED')), 10_400],
  '[R13] a refusal': [() => enter('live').tell(10_000, failed('NOT_FOUND')), 10_400],
  '[R9][R13] retryAfterMs': [() => enter('live').tell(10_000, failed('UNAVAILABLE', { retryAfterMs: 900 })), 10_900],
  'a short retryAfterMs': [() => enter('live').tell(10_000, failed('UNAVAILABLE', { retryAfterMs: 3 })), 10_400],
  ...Object.fromEntries(
    [0, Number.NaN, -1, Number.POSITIVE_INFINITY].map((retryAfterMs) => [
      `a retryAfterMs of ${retryAfterMs}, which counts as absent,`,
      [() => enter('live').tell(10_000, failed('UNAVAILABLE', { retryAfterMs })), 10_000],
    ]),
  ),
  '[R9] a later error at the least': [() => reopened().tell(10_000, failed('UNAVAILABLE'), LOW), 10_400],
  '[R9] a later error at the most': [() => reopened().tell(10_000, failed('UNAVAILABLE'), HIGH), 10_800],
  'an end after the spacing': [() => enter('live').tell(10_000, inputs.ended, HIGH), 10_000],
  '[R9] an end at once, at the least': [() => enter('connecting').tell(1, inputs.ended, LOW), 400],
  '[R9] an end at once, at the most': [() => enter('connecting').tell(1, inputs.ended, HIGH), 800],
  '[R9] the second end at once, at the least': [
    () => enter('connecting').tell(1, inputs.ended, HIGH).tell(800, inputs.delayElapsed).tell(801, inputs.ended, LOW),
    1_600,
  ],
  '[R11] an expiry of a reopened watch': [() => spaced().tell(600_010, failed('VERSION_EXPIRED'), HIGH), 600_810],
  '[R11] another epoch of a reopened watch': [() => spaced().tell(600_010, failed('EPOCH_CHANGED'), HIGH), 600_810],
  '[C7] an expiry of a reopened watch within its stream': [
    () => spaced().tell(600_005, inputs.batch).tell(600_010, failed('VERSION_EXPIRED'), HIGH),
    600_810,
  ],
  'an expiry at once of a watch that has followed a list': [
    () => enter('relisting').tell(1_010, inputs.listed).tell(1_020, failed('VERSION_EXPIRED'), HIGH),
    1_820,
  ],
}

test.each(Object.entries(opens))('%s opens at the right time', (_, [machine, until]) =>
  expect(machine().until).toBe(until),
)

const spacings: Readonly<Record<string, readonly [machine: () => Machine, spacingMs: number]>> = {
  '[R10] a watch that was live for 1 s': [
    () =>
      spaced()
        .tell(600_005, inputs.batch)
        .tell(601_005, failed('UNAVAILABLE', { contactAt: 601_005 })),
    800,
  ],
  '[R10] an expiry, which is a response, after 1 s of silence': [
    () =>
      reopened()
        .tell(2_000, inputs.batch)
        .tell(3_000, failed('VERSION_EXPIRED', { contactAt: 2_000 })),
    800,
  ],
  'a watch that was live for a shorter time': [
    () => reopened().tell(2_000, inputs.batch).tell(2_999, inputs.ended),
    1_600,
  ],
  'a watch that yielded nothing': [() => reopened().tell(60_000, failed('UNAVAILABLE')), 1_600],
  'the silence before a timeout': [
    () =>
      reopened()
        .tell(2_000, inputs.batch)
        .tell(27_000, failed('UNAVAILABLE', { contactAt: 2_000 })),
    1_600,
  ],
  'a list that failed': [
    () =>
      enter('listing')
        .tell(0, failed('UNAVAILABLE'))
        .tell(1_000, inputs.delayElapsed)
        .tell(50_000, failed('UNAVAILABLE', { contactAt: 50_000 })),
    1_600,
  ],
  'the first reconnect': [
    () => enter('live').tell(10_000, failed('UNAVAILABLE')).tell(10_200, inputs.delayElapsed),
    800,
  ],
  'a relist of the first reconnect': [
    () => enter('live').tell(0, failed('UNAVAILABLE')).tell(1, inputs.relist).tell(2, inputs.delayElapsed),
    800,
  ],
  'a list and its watch, which are one open,': [() => enter('relisting').tell(9_000, inputs.listed), 1_600],
}

test.each(Object.entries(spacings))('%s leaves the right spacing', (_, [machine, spacingMs]) =>
  expect(machine().spacingMs).toBe(spacingMs),
)

test('[R9][R16] the spacing doubles from 0.8 s with each open to 30 s, and not beyond', () => {
  const doubled = [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]
  expect(gaps(enter('connecting'), 1, inputs.ended)).toEqual(doubled)
})

test.each(['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL'] as const)(
  '[R9][R16][R4][R5] %s is retried soon at first, then every 15 to 30 s',
  (code) => {
    const doubled = [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]
    expect(gaps(enter('listing'), 0, failed(code))).toEqual(doubled)
  },
)

test('[R9][R16][R14] a reconnect comes at once at most every 10 s, if a working watch breaks every second', () => {
  const machine = enter('live')
  const delays: number[] = []
  for (let at = 1_000; at <= 24_000; at += 1_000) {
    machine.tell(at, failed('UNAVAILABLE', { contactAt: at }), HIGH)
    delays.push((machine.until ?? Number.NaN) - at)
    machine.tell(machine.until ?? at, inputs.delayElapsed).tell(machine.until ?? at, inputs.batch)
  }
  expect(delays.flatMap((delay, i) => (delay <= 200 ? [i + 1] : []))).toEqual([1, 12, 23])
  expect(Math.min(...delays.filter((delay) => delay > 200))).toBeGreaterThanOrEqual(400)
})

test('[R9][R16][R14] the first reconnect is followed by the delays of a first attempt', () => {
  const machine = enter('live').tell(10_000, failed('UNAVAILABLE'), HIGH).tell(10_200, inputs.delayElapsed)
  expect(machine.tell(10_201, failed('UNAVAILABLE'), LOW).until).toBe(10_601)
  machine.tell(10_601, inputs.delayElapsed)
  expect(machine.spacingMs).toBe(1_600)
  expect(machine.tell(10_602, failed('UNAVAILABLE'), HIGH).until).toBe(10_601 + 1_600)
})

test('[R9][R16][R15] the first reconnects of 1 000 mirrors are spread: no 20 ms have more than a fifth of them', () => {
  const random = new SeededRandom(1)
  const slots = Map.groupBy(
    Array.from({ length: 1_000 }, () => {
      const { until = Number.NaN } = enter('live').tell(10_000, failed('UNAVAILABLE'), [random.next(), random.next()])
      return Math.floor((until - 10_000) / 20)
    }),
    (slot) => slot,
  )
  expect([...slots.keys()].sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(Math.max(...[...slots.values()].map(({ length }) => length))).toBeLessThan(200)
})

test('[R9][R16] no input leads to an open in the past, or to a loop without a delay', () => {
  for (const name of Object.keys(table).filter(isStateful)) {
    for (const input of Object.values(inputs)) {
      const { effect, state } = step(enter(name).state, { ...input, at: 5, chance: LOW })
      const least = 'immediateAt' in state && state.immediateAt === 5 ? 5 : 400
      if (effect.type === 'wait') expect(effect.until, `${name} ${input.type}`).toBeGreaterThanOrEqual(least)
    }
  }
})

test('after EPOCH_CHANGED every list trusts no version until one succeeds, also if relists are requested', () => {
  const blind = { ...LIST, ignoreVersions: true }
  const machine = enter('live').tell(0, failed('EPOCH_CHANGED')).tell(6, inputs.relist).tell(2_000, inputs.delayElapsed)
  expect(machine.last.effect).toEqual(blind)
  machine.tell(2_001, inputs.relist).tell(2_002, failed('UNAVAILABLE')).tell(2_003, inputs.relist)
  expect(machine.tell(9_000, inputs.delayElapsed).last.effect).toEqual(blind)
  machine.tell(9_001, inputs.listed).tell(9_002, failed('VERSION_EXPIRED')).tell(60_000, inputs.delayElapsed)
  expect(machine.last.effect).toEqual(LIST)
})

test('[R6] a relist that is requested during a list is another list after it, spaced', () => {
  const machine = enter('listing').tell(5, inputs.relist).tell(6, inputs.listed, HIGH)
  expect([machine.until, machine.tell(800, inputs.delayElapsed).last.effect]).toEqual([800, LIST])
  expect(machine.tell(801, inputs.listed).last.effect).toEqual({ type: 'watch' })
})

test('[R7] a relist that is requested while a list waits for its slot is that list, which is opened with the slot', () => {
  const machine = enter('relisting').tell(5, inputs.relist).tell(20_000, inputs.admitted)
  expect(machine.last.effect).toEqual({ type: 'continue' })
  expect(machine.state).toMatchObject({ isListWanted: false })
  expect(machine.tell(20_001, inputs.listed).last.effect).toEqual({ type: 'watch' })
  const other = enter('relisting').tell(20_000, inputs.admitted).tell(20_001, inputs.relist)
  expect(other.tell(20_002, inputs.listed, LOW).until).toBeGreaterThanOrEqual(20_400)
})

test('[R2] a relist that is requested during the delay of a watch opens a list instead', () => {
  expect(enter('backing-off').tell(5, inputs.relist).tell(1_000, inputs.delayElapsed).last.effect).toEqual(LIST)
})

test('[R8] the reason says behind after five stale lists in a row, and no more after a good list', () => {
  const machine = enter('listing')
  const reasons: string[] = []
  for (let i = 1; i <= 5; i++) {
    reasons.push(machine.tell(i * 100_000, failed('STALE_LIST')).state.reason)
    machine.tell(i * 100_000 + 50_000, inputs.delayElapsed)
  }
  expect(reasons.slice(0, 4)).toEqual(Array(4).fill('it is STALE_LIST'))
  expect(reasons[4]).toBe('behind: it is STALE_LIST (5 lists in a row)')
  machine.tell(600_000, inputs.listed).tell(700_000, failed('STALE_LIST'))
  expect(machine.state.reason).toBe('it is STALE_LIST')
})

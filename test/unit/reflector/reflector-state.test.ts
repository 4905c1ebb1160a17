import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { initialState, step, table } from '../../../src/reflector/reflector-state.js'
import type {
  InputType,
  ReflectorState,
  StateName,
  Step,
  UntimedInput,
} from '../../../src/reflector/reflector-state-types.js'
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

  /** When the running list or watch was opened. */
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
  for (const [row = '', ...words] of rows) {
    for (const [i, column] of (head ?? []).entries()) yield { row, column, cell: words[i] ?? 'missing' }
  }
}

/** The transition table of SPEC.md as words. */
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
  const machine = enter('live').tell(0, failed('UNAVAILABLE')).tell(0, { type: 'delayElapsed' })
  return machine.tell(0, failed('UNAVAILABLE')).tell(1_000, { type: 'delayElapsed' })
}

describe('[R12][R13][R14][R15] the first reconnect after a break', () => {
  test.each([
    { chance: LOW, until: 10_000 },
    { chance: HIGH, until: 10_200 },
  ])('the first reconnect opens up to 0.2 s after the error: $until', ({ chance, until }) => {
    expect(enter('live').tell(10_000, failed('UNAVAILABLE'), chance).until).toBe(until)
  })

  test('the first reconnect comes at once also if the watch was opened just before', () => {
    expect(enter('live').tell(1, failed('UNAVAILABLE'), HIGH).until).toBe(201)
    expect(enter('connecting').tell(1, failed('UNAVAILABLE'), HIGH).until).toBe(201)
  })

  test('the first reconnect is followed by the delays of a first attempt', () => {
    const machine = enter('live').tell(10_000, failed('UNAVAILABLE'), HIGH).tell(10_200, { type: 'delayElapsed' })
    expect(machine.spacingMs).toBe(800)
    expect(machine.tell(10_201, failed('UNAVAILABLE'), LOW).until).toBe(10_601)
    machine.tell(10_601, { type: 'delayElapsed' })
    expect(machine.spacingMs).toBe(1_600)
    expect(machine.tell(10_602, failed('UNAVAILABLE'), HIGH).until).toBe(10_601 + 1_600)
  })

  test('a reconnect comes at once at most every 10 s, if a working watch breaks every second', () => {
    const machine = enter('live')
    const delays: number[] = []
    for (let at = 1_000; at <= 24_000; at += 1_000) {
      machine.tell(at, failed('UNAVAILABLE', { contactAt: at }), HIGH)
      delays.push((machine.until ?? Number.NaN) - at)
      machine.tell(machine.until ?? at, { type: 'delayElapsed' }).tell(machine.until ?? at, { type: 'batch' })
    }
    expect(delays.flatMap((delay, i) => (delay <= 200 ? [i + 1] : []))).toEqual([1, 12, 23])
    expect(Math.min(...delays.filter((delay) => delay > 200))).toBeGreaterThanOrEqual(400)
  })

  test.each(['VERSION_EXPIRED', 'EPOCH_CHANGED', 'NOT_FOUND'] as const)(
    'the first reconnect is delayed after %s',
    (code) => {
      expect(enter('live').tell(10_000, failed(code), LOW).until).toBeGreaterThanOrEqual(10_400)
    },
  )

  test('the first reconnect waits for retryAfterMs', () => {
    expect(enter('live').tell(10_000, failed('UNAVAILABLE', { retryAfterMs: 900 }), LOW).until).toBe(10_900)
  })

  test('a reconnect that waits becomes a list if a relist is requested', () => {
    const machine = enter('live').tell(10_000, failed('UNAVAILABLE'), HIGH)
    machine.tell(10_100, { type: 'relist', reason: 'wanted' }).tell(10_200, { type: 'delayElapsed' })
    expect(machine.last.effect).toMatchObject({ type: 'list' })
    expect(machine.spacingMs).toBe(800)
  })

  test('the first reconnects of 1 000 mirrors are spread: no 20 ms have more than a fifth of them', () => {
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
})

describe('[R9][R16] opens are spaced', () => {
  // Each open waits for the latest of three times: the previous open + a draw from [D/2, D), the error + a draw from
  // [0.4, 0.8) s, and the error + retryAfterMs.
  test('the first list is opened at once', () => {
    const { openedAt, last } = new Machine().tell(7, { type: 'start' })
    expect(last.effect).toEqual({ type: 'list', isFirst: true, ignoreVersions: false })
    expect(openedAt).toBe(7)
  })

  test('a watch that follows a list just completed is opened at once', () => {
    const { last } = new Machine().tell(0, { type: 'start' }).tell(1, { type: 'listed' })
    expect(last.effect).toEqual({ type: 'watch' })
  })

  test.each([
    { chance: LOW, until: 10_400, of: 'the least' },
    { chance: HIGH, until: 10_800, of: 'the most' },
  ])('after an error at 10 s, $of of the random delays ends at $until', ({ chance, until }) => {
    expect(reopened().tell(10_000, failed('UNAVAILABLE'), chance).until).toBe(until)
  })

  test('an expiry has the delay of any other error', () => {
    expect(enter('live').tell(10_000, failed('VERSION_EXPIRED'), LOW).until).toBe(10_400)
  })

  test('a stream that ends without an error after the spacing is reopened at once', () => {
    expect(enter('live').tell(10_000, { type: 'ended' }, HIGH).until).toBe(10_000)
  })

  test.each([
    { chance: LOW, until: 400 },
    { chance: HIGH, until: 800 },
  ])('a stream that ends at once waits until $until after the open', ({ chance, until }) => {
    expect(enter('connecting').tell(1, { type: 'ended' }, chance).until).toBe(until)
  })

  test('the spacing doubles from 0.8 s with each open to 30 s, and not beyond', () => {
    const machine = enter('connecting')
    const gaps: number[] = []
    for (let i = 0; i < 8; i++) {
      const openedAt = machine.openedAt
      machine.tell(openedAt + 1, { type: 'ended' }, HIGH)
      const until = machine.until ?? Number.NaN
      gaps.push(until - openedAt)
      machine.tell(until, { type: 'delayElapsed' })
    }
    expect(gaps).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
  })

  test('the random part of the spacing is at most half of it', () => {
    const machine = enter('connecting')
    machine.tell(1, { type: 'ended' }, HIGH).tell(800, { type: 'delayElapsed' })
    expect(machine.tell(801, { type: 'ended' }, LOW).until).toBe(800 + 800)
  })

  test('a list and its watch count as one open', () => {
    const machine = enter('live').tell(0, failed('VERSION_EXPIRED')).tell(1_000, { type: 'delayElapsed' })
    const { openedAt, spacingMs } = machine
    machine.tell(9_000, { type: 'listed' })
    expect(machine).toMatchObject({ openedAt, spacingMs })
  })

  test('[R10] a watch that was live for 1 s resets the spacing, however far it had grown', () => {
    const machine = reopened()
    machine.tell(1_000, failed('UNAVAILABLE')).tell(2_000, { type: 'delayElapsed' })
    expect(machine.spacingMs).toBe(3_200)
    machine.tell(3_000, { type: 'batch' }).tell(4_000, failed('UNAVAILABLE', { contactAt: 4_000 }))
    expect(machine.spacingMs).toBe(800)
  })

  test('[R10] an expiry is a response: the silence of a watch before it counts as time for which it was live', () => {
    const machine = reopened()
    machine.tell(2_000, { type: 'batch' }).tell(3_000, failed('VERSION_EXPIRED', { contactAt: 2_000 }))
    expect(machine.spacingMs).toBe(800)
  })

  test('a watch that was live for a shorter time does not reset the spacing', () => {
    const machine = reopened()
    machine.tell(2_000, { type: 'batch' }).tell(2_999, { type: 'ended' })
    expect(machine.spacingMs).toBe(1_600)
  })

  test('expiries two seconds apart are each followed by a list within 0.8 s', () => {
    const machine = enter('live')
    for (let n = 1; n <= 8; n++) {
      machine.tell(n * 2_000, failed('VERSION_EXPIRED', { contactAt: n * 2_000 }), HIGH)
      expect(machine.until).toBe(n * 2_000 + 800)
      machine.tell(n * 2_000 + 800, { type: 'delayElapsed' }).tell(n * 2_000 + 900, { type: 'listed' })
      machine.tell(n * 2_000 + 950, { type: 'batch' })
    }
  })

  test.each(['VERSION_EXPIRED', 'EPOCH_CHANGED'] as const)(
    '[R11] a list that is required by %s, the response to a reopened watch, waits for the delay after an error only',
    (code) => {
      const machine = enter('live')
      for (let n = 0; n <= 6; n++)
        machine.tell(n * 100_000, failed('UNAVAILABLE')).tell(n * 100_000, { type: 'delayElapsed' })
      expect(machine.spacingMs).toBe(30_000)
      expect(machine.tell(600_010, failed(code), HIGH).until).toBe(600_810)
    },
  )

  test('[C7] a list is not spaced if the reopened watch expires within its stream, after a first bookmark', () => {
    const machine = enter('live')
    for (let n = 0; n <= 6; n++)
      machine.tell(n * 100_000, failed('UNAVAILABLE')).tell(n * 100_000, { type: 'delayElapsed' })
    machine.tell(600_005, { type: 'batch' })
    expect(machine.tell(600_010, failed('VERSION_EXPIRED'), HIGH).until).toBe(600_810)
  })

  test('a list after a watch that followed a list and expired at once is spaced', () => {
    const machine = enter('live').tell(0, failed('VERSION_EXPIRED')).tell(1_000, { type: 'delayElapsed' })
    machine.tell(1_010, { type: 'listed' })
    expect(machine.tell(1_020, failed('VERSION_EXPIRED'), HIGH).until).toBe(2_600)
  })

  test('a watch that opened and yielded nothing does not reset the spacing, however long it was open', () => {
    const machine = reopened()
    machine.tell(60_000, failed('UNAVAILABLE'))
    expect(machine.spacingMs).toBe(1_600)
  })

  test('the silence before a timeout does not count as time for which the watch was live', () => {
    const machine = reopened()
    machine.tell(2_000, { type: 'batch' }).tell(27_000, failed('UNAVAILABLE', { contactAt: 2_000 }))
    expect(machine.spacingMs).toBe(1_600)
  })

  test('a list that failed does not reset the spacing', () => {
    const machine = enter('listing').tell(0, failed('UNAVAILABLE')).tell(1_000, { type: 'delayElapsed' })
    machine.tell(50_000, failed('UNAVAILABLE', { contactAt: 50_000 }))
    expect(machine.spacingMs).toBe(1_600)
  })

  test('retryAfterMs counts from the error', () => {
    expect(enter('live').tell(10_000, failed('UNAVAILABLE', { retryAfterMs: 5_000 }), HIGH).until).toBe(15_000)
  })

  test('a retryAfterMs that is shorter than the delay after an error changes nothing', () => {
    expect(enter('live').tell(10_000, failed('UNAVAILABLE', { retryAfterMs: 3 }), LOW).until).toBe(10_400)
  })

  test.each([0, Number.NaN, -1, Number.POSITIVE_INFINITY])('a retryAfterMs of %d counts as absent', (retryAfterMs) => {
    expect(enter('live').tell(10_000, failed('UNAVAILABLE', { retryAfterMs }), LOW).until).toBe(10_000)
  })

  test.each(['UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL'] as const)(
    '[R4][R5] %s is retried soon at first, then every 15 to 30 s',
    (code) => {
      const machine = enter('listing')
      const gaps: number[] = []
      for (let i = 0; i < 8; i++) {
        const openedAt = machine.openedAt
        machine.tell(openedAt, failed(code), HIGH)
        gaps.push((machine.until ?? Number.NaN) - openedAt)
        machine.tell(machine.until ?? Number.NaN, { type: 'delayElapsed' })
      }
      expect(gaps).toEqual([800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000])
    },
  )

  test('no input leads to an open in the past, or to a loop without a delay', () => {
    for (const name of Object.keys(table)) {
      if (!isStateful(name)) continue
      for (const input of Object.values(inputs)) {
        const { effect, state } = step(enter(name).state, { ...input, at: 5, chance: LOW })
        const least = 'immediateAt' in state && state.immediateAt === 5 ? 5 : 400
        if (effect.type === 'wait') expect(effect.until, `${name} ${input.type}`).toBeGreaterThanOrEqual(least)
      }
    }
  })
})

describe('the memory of the state', () => {
  test('after EPOCH_CHANGED every list trusts no version until one succeeds', () => {
    const machine = enter('live').tell(0, failed('EPOCH_CHANGED')).tell(1_000, { type: 'delayElapsed' })
    expect(machine.last.effect).toEqual({ type: 'list', isFirst: false, ignoreVersions: true })
    machine.tell(1_001, failed('UNAVAILABLE')).tell(9_000, { type: 'delayElapsed' })
    expect(machine.last.effect).toEqual({ type: 'list', isFirst: false, ignoreVersions: true })
    machine
      .tell(9_001, { type: 'listed' })
      .tell(9_002, failed('VERSION_EXPIRED'))
      .tell(60_000, { type: 'delayElapsed' })
    expect(machine.last.effect).toEqual({ type: 'list', isFirst: false, ignoreVersions: false })
  })

  test('a list that trusts no version stays one if a relist is requested before or during it', () => {
    const machine = enter('live').tell(5, failed('EPOCH_CHANGED')).tell(6, { type: 'relist', reason: 'wanted' })
    expect(machine.tell(2_000, { type: 'delayElapsed' }).last.effect).toEqual({
      type: 'list',
      isFirst: false,
      ignoreVersions: true,
    })
    machine.tell(2_001, { type: 'relist', reason: 'wanted' }).tell(2_002, failed('UNAVAILABLE'))
    machine.tell(2_003, { type: 'relist', reason: 'wanted' })
    expect(machine.tell(9_000, { type: 'delayElapsed' }).last.effect).toEqual({
      type: 'list',
      isFirst: false,
      ignoreVersions: true,
    })
  })

  test('an expiry is one relist: after it the watch is opened again', () => {
    const machine = enter('live').tell(0, failed('VERSION_EXPIRED')).tell(1_000, { type: 'delayElapsed' })
    machine.tell(1_001, { type: 'listed' }).tell(1_002, failed('UNAVAILABLE'))
    expect(machine.state).toMatchObject({ next: { type: 'watch' }, relists: 1 })
  })

  test('a watch that broke is counted as a reconnect when it is opened again, and not as a relist', () => {
    const machine = enter('live').tell(0, failed('UNAVAILABLE')).tell(1_000, { type: 'delayElapsed' })
    expect(machine.state).toMatchObject({ relists: 0, reconnects: 1 })
  })

  test('attempts count up until a batch arrives', () => {
    const machine = enter('live')
    const attempts = [machine.state.attempt]
    for (let i = 0; i < 3; i++) {
      machine.tell(machine.openedAt, failed('UNAVAILABLE')).tell(100_000 * (i + 1), { type: 'delayElapsed' })
      attempts.push(machine.state.attempt)
    }
    machine.tell(400_000, { type: 'batch' })
    expect([...attempts, machine.state.attempt]).toEqual([0, 1, 2, 3, 0])
  })

  test('[R6] a relist that is requested during a list is another list after it, spaced', () => {
    const machine = enter('listing').tell(5, { type: 'relist', reason: 'wanted' }).tell(6, { type: 'listed' }, HIGH)
    expect(machine.until).toBe(800)
    expect(machine.tell(800, { type: 'delayElapsed' }).last.effect).toEqual({
      type: 'list',
      isFirst: false,
      ignoreVersions: false,
    })
    expect(machine.tell(801, { type: 'listed' }).last.effect).toEqual({ type: 'watch' })
  })

  test('a relist that was requested during a list that failed causes one list, not two', () => {
    const machine = enter('listing').tell(5, { type: 'relist', reason: 'wanted' }).tell(6, failed('UNAVAILABLE'))
    machine.tell(1_000, { type: 'delayElapsed' }).tell(1_001, { type: 'listed' })
    expect(machine.last.effect).toEqual({ type: 'watch' })
  })

  test('[R7] a relist that is requested while a list waits for its slot is that list', () => {
    const machine = enter('relisting').tell(5, { type: 'relist', reason: 'wanted' })
    machine.tell(20_000, { type: 'admitted' })
    expect(machine.last.effect).toEqual({ type: 'continue' })
    expect(machine.state).toMatchObject({ isListWanted: false })
    expect(machine.tell(20_001, { type: 'listed' }).last.effect).toEqual({ type: 'watch' })
  })

  test('[R7] a list that waited for its slot counts as opened when it got the slot: the next open is spaced from then', () => {
    const machine = enter('relisting').tell(20_000, { type: 'admitted' })
    machine.tell(20_001, { type: 'relist', reason: 'wanted' }).tell(20_002, { type: 'listed' }, LOW)
    expect(machine.until).toBeGreaterThanOrEqual(20_400)
  })

  test('[R2] a relist that is requested during the delay of a watch opens a list instead', () => {
    const machine = enter('backing-off').tell(5, { type: 'relist', reason: 'wanted' })
    expect(machine.tell(1_000, { type: 'delayElapsed' }).last.effect).toEqual({
      type: 'list',
      isFirst: false,
      ignoreVersions: false,
    })
  })
})

describe('the reason', () => {
  test('the reason of a stream that ended sooner than the spacing says unstable', () => {
    expect(enter('live').tell(12, { type: 'ended' }).state.reason).toBe('unstable: the watch ended after 12 ms')
  })

  test('a stream that was live for longer is not called unstable', () => {
    expect(enter('live').tell(60_000, { type: 'ended' }).state.reason).toBe('the source ended the watch')
  })

  test('[R8] the reason says behind after five stale lists in a row, and no more after a good list', () => {
    const machine = enter('listing')
    const reasons: string[] = []
    for (let i = 1; i <= 5; i++) {
      reasons.push(machine.tell(i * 100_000, failed('STALE_LIST')).state.reason)
      machine.tell(i * 100_000 + 50_000, { type: 'delayElapsed' })
    }
    expect(reasons.slice(0, 4)).toEqual(Array(4).fill('it is STALE_LIST'))
    expect(reasons[4]).toBe('behind: it is STALE_LIST (5 lists in a row)')
    machine.tell(600_000, { type: 'listed' }).tell(700_000, failed('STALE_LIST'))
    expect(machine.state.reason).toBe('it is STALE_LIST')
  })
})

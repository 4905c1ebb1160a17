import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { messageOf, OptionError, SourceError, TerminalError, toSourceError } from '../../../src/contract/errors.js'
import { failureReport, initialState, step } from '../../../src/reflector/reflector-state.js'

describe('SourceError', () => {
  test('[B37] escapes control characters in its message, which would forge lines of a log', () => {
    const { message } = new SourceError('the key "a\n2026 ok\u001b[31m\u2028" is invalid', { code: 'DECODE' })
    expect(message).toBe('the key "a\\n2026 ok\\u001b[31m\\u2028" is invalid')
  })

  test('it is an Error with a stack, and the message, code and details that were passed', () => {
    const details = {
      code: 'UNAVAILABLE',
      cause: new Error('socket hang up'),
      retryAfterMs: 1_500,
      key: 'a',
      phase: 'watch',
      source: 'etcd:/jobs/',
    } as const
    const error = new SourceError('the watch ended', details)
    expect(error).toBeInstanceOf(Error)
    expect(error.stack).toContain('the watch ended')
    expect(error).toMatchObject({ name: 'SourceError', message: 'the watch ended', ...details })
    expect('cause' in new SourceError('broken', { code: 'PROTOCOL' })).toBe(false)
  })

  test.each([0, -1, Number.NaN, Infinity, undefined])('retryAfterMs %s counts as absent', (retryAfterMs) => {
    expect(new SourceError('busy', { code: 'UNAVAILABLE', retryAfterMs }).retryAfterMs).toBeUndefined()
  })

  test('instanceof distinguishes a derived class from SourceError', () => {
    class Derived extends SourceError {}
    const derived = new Derived('x', { code: 'PROTOCOL' })
    const other = new SourceError('x', { code: 'PROTOCOL' })
    expect([derived instanceof Derived, derived instanceof SourceError]).toEqual([true, true])
    expect(other instanceof Derived).toBe(false)
  })
})

test('an OptionError is a TypeError that names the option, and is printed as OptionError', () => {
  const cause = new Error('ended')
  const error = new OptionError('postgresSource: option "connect" must be a function', { option: 'connect', cause })
  expect(error).toBeInstanceOf(TypeError)
  expect([error.option, error.cause]).toEqual(['connect', cause])
  expect(inspect(error)).toMatch(/^OptionError: postgresSource: option "connect" must be a function\n/)
})

test.each([
  ['SourceError', SourceError],
  ['OptionError', OptionError],
  ['TerminalError', TerminalError],
] as const)('instanceof %s recognises an instance of another copy of the package, and nothing else', (name, type) => {
  const foreign: object = Object.defineProperty({}, Symbol.for(`listwatch.${name}`), { value: true })
  expect(foreign instanceof type).toBe(true)
  const others: unknown[] = [new TypeError('x'), { name, code: 'PROTOCOL' }, null, undefined, name]
  expect(others.filter((other) => other instanceof type)).toEqual([])
})

test.each<[string, unknown, string]>([
  ['an Error', new Error('broken'), 'broken'],
  ['an Error without a message', new RangeError(), 'RangeError'],
  ['a string', 'broken', 'broken'],
  ['undefined', undefined, 'undefined'],
  ['null', null, 'null'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['an AggregateError without a message', new AggregateError([new Error('a'), 'b']), 'a; b'],
  ['an AggregateError with one', new AggregateError([new Error('a')], 'all failed'), 'all failed'],
  ['an object without a prototype', Object.create(null), 'an object'],
  ['an object whose toString throws', { toString: JSON.parse }, 'an object'],
  ['[B8] an Error whose message is an array', Object.assign(new Error(), { message: ['a', 'b'] }), 'a,b'],
  ['[B8] an Error whose message is a symbol', Object.assign(new Error(), { message: Symbol('s') }), 'Symbol(s)'],
])('messageOf has a message for %s', (_, thrown, message) => expect(messageOf(thrown)).toBe(message))

describe('toSourceError', () => {
  test('[C18] a thrown value that is not a SourceError counts as UNAVAILABLE or gets the code and key of the operation, and is the cause', () => {
    const cause = new TypeError('fetch failed', { cause: new Error('ECONNRESET') })
    expect(toSourceError(cause, { phase: 'watch', source: 's' })).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'fetch failed: ECONNRESET',
      cause,
      phase: 'watch',
      source: 's',
      key: undefined,
    })
    const error = toSourceError('bad', { phase: 'decode', code: 'DECODE', key: 'a' })
    expect(error).toMatchObject({ code: 'DECODE', key: 'a', cause: 'bad' })
  })

  test('a SourceError that has its phase and source is returned unchanged, and one that has only a phase keeps it', () => {
    const error = new SourceError('gone', { code: 'VERSION_EXPIRED', phase: 'list', source: 'its own' })
    expect(toSourceError(error, { phase: 'watch', source: 'other' })).toBe(error)
    const located = toSourceError(new SourceError('gone', { code: 'DECODE', phase: 'decode' }), {
      phase: 'list',
      source: 's',
    })
    expect(located).toMatchObject({ phase: 'decode', source: 's' })
  })
})

test('the report of a failure says 0.0 s, not -0.0 s, if the retry is due already', () => {
  const started = step(initialState, { type: 'start', at: 0, chance: [0, 0] })
  const { state } = step(started.state, {
    type: 'failed',
    error: new SourceError('broken', { code: 'UNAVAILABLE' }),
    contactAt: undefined,
    at: 0,
    chance: [0, 0],
  })
  const error = new SourceError('broken', { code: 'UNAVAILABLE', phase: 'watch', source: 'memory' })
  const retryAt = 'retryAt' in state ? state.retryAt : Number.NaN
  expect(failureReport(error, state, retryAt + 1).message).toContain('again in 0.0 s')
})

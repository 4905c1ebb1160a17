import { describe, expect, test } from 'vitest'
import { OptionError } from '../../../src/contract/errors.js'
import {
  checkOptions,
  isBoolean,
  isCount,
  isFunction,
  isName,
  isObject,
  isOneOf,
  isPositive,
  isSignal,
  isString,
  type OptionCheck,
} from '../../../src/util/validate-options.js'

const check = (of: OptionCheck, value: unknown) => () => checkOptions('call', { option: value }, { option: of })

describe('checkOptions', () => {
  test.each<[string, OptionCheck, string, unknown[]]>([
    ['isFunction', isFunction, 'must be a function', [1, {}, null]],
    ['isBoolean', isBoolean, 'must be true or false', [0, 'true', null]],
    ['isString', isString, 'must be a string', [1, null, {}]],
    ['isObject', isObject, 'must be an object', [1, 'a', null, () => 1]],
    ['isName', isName, 'must be a string that is not empty', ['', 1, null]],
    [
      'isPositive',
      isPositive,
      'must be a finite number above 0',
      [0, -0, -1, Number.NaN, Infinity, -Infinity, '1', 1n],
    ],
    ['isCount', isCount, 'must be a whole number of at least 1', [0, -1, 0.5, Number.NaN, Infinity, 2 ** 53, '1', 1n]],
    ['isSignal', isSignal, 'must be an AbortSignal', [{ aborted: false }, new AbortController()]],
    ['isOneOf', isOneOf('every', 'latest'), 'must be one of "every", "latest"', ['all', 1, null]],
  ])('[B1] %s refuses everything else with a TypeError that says what is allowed', (_, of, flaw, values) => {
    for (const value of values) {
      expect(check(of, value)).toThrow(TypeError)
      expect(check(of, value)).toThrow(`call: option "option" ${flaw}`)
    }
  })

  test.each<[string, unknown]>([
    ['NaN', Number.NaN],
    ['-1', -1],
    ['"many"', 'many'],
    ['null', null],
    ['an array', []],
    ['an object', {}],
    ['a function', () => 1],
    ['5', 5n],
    ['Symbol(s)', Symbol('s')],
  ])('the message says that it got %s', (shown, value) => {
    const never: OptionCheck = () => 'must be something else'
    expect(check(never, value)).toThrow(`must be something else, got ${shown}`)
  })

  test.each(['auth', 'client', 'credentials', 'kubeConfig', 'password', 'privateKey'])(
    '[B36] the value of %s is not quoted: it may hold a secret',
    (name) => {
      const refuse = (value: unknown) => () => checkOptions('call', { [name]: value }, { [name]: () => 'is wrong' })
      expect(refuse('host=db password=hunter2')).toThrow(/is wrong, got a string$/)
      expect(refuse(12_345)).toThrow(/is wrong, got a number$/)
    },
  )

  test('[B34] a password in a URL is replaced in the message', () => {
    const value = `http://user:${'hunter2'.repeat(10)}@host`
    expect(check(isCount, value)).toThrow('got "http://user:***@host"')
  })

  test('a long string is cut in the message', () => expect(check(isCount, 'x'.repeat(10_000))).toThrow(/got "x{40}…"$/))

  test.each([
    [{ resyncMS: 1 }, 'resyncMS'],
    [{ resyncMs: -1 }, 'resyncMs'],
  ])('[B1] %j is an OptionError with the name of the option', (options, option) => {
    const call = () => checkOptions('open', options, { resyncMs: isPositive })
    expect(call).toThrow(OptionError)
    expect(call).toThrow(expect.objectContaining({ option }))
  })

  test('an unknown option is a TypeError that names the call, the option and those allowed', () => {
    const call = () => checkOptions('open', { resyncMS: 1 }, { resyncMs: isPositive, name: isName })
    expect(call).toThrow(
      expect.objectContaining({ message: 'open: unknown option "resyncMS"; allowed are resyncMs, name' }),
    )
  })

  test.each([
    [{ filter: 1 }, ['connect', 'sql'], 'unknown option "filter"; use "sql"; allowed are connect, sql'],
    [{ pool: 1 }, ['connect', 'sql'], 'unknown option "pool"; use "connect"; allowed are connect, sql'],
    [{ pool: 1 }, ['endpoints'], 'unknown option "pool"; allowed are endpoints'],
    [{ keys: Promise.resolve() }, ['keys'], 'option "keys" must be a function, got a promise: await it first'],
  ])('%j names the option that is meant, if the call with %j has it, and a promise that was not awaited', (...row) => {
    const [options, allowed, message] = row
    const checks = Object.fromEntries(allowed.map((name) => [name, isFunction]))
    expect(() => checkOptions('open', options, checks)).toThrow(message)
  })

  test.each(['constructor', 'toString', '__proto__'])('%s is an unknown option unless it is declared', (name) => {
    const options: unknown = JSON.parse(`{${JSON.stringify(name)}: 1}`)
    expect(() => checkOptions('open', options, { resyncMs: isPositive })).toThrow(`unknown option "${name}"`)
  })

  test('undefined means that an option is not given', () => expect(check(isCount, undefined)).not.toThrow())

  test('undefined means that no options are given', () => {
    expect(() => checkOptions('open', undefined, {})).not.toThrow()
  })

  test.each([
    ['null', null],
    ['a number', 1],
    ['a string', 'name'],
    ['an array', []],
    ['a function', () => 1],
  ])('options that are %s are a TypeError', (_what, options) => {
    expect(() => checkOptions('open', options, {})).toThrow(new TypeError('open: the options must be an object'))
  })
})

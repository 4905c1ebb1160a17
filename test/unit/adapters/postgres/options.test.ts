import { Client, Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import {
  installChangeLogSql,
  type PostgresSourceOptions,
  postgresDatabase,
  postgresSource,
  trimChangeLogs,
} from '../../../../adapters/postgres/index.js'
import { OptionError, systemClock, systemRandom } from '../../../../src/adapter.js'

const connect = (): Client => new Client()
const numbers = ['pollIntervalMs', 'timeoutMs', 'maxDeltaRows', 'maxObjectBytes', 'trimEveryMs']

/** What a program in JavaScript can say, whatever the types are. */
function sourceOf(options: object): unknown {
  return postgresSource(options as PostgresSourceOptions)
}

describe('the options of a source', () => {
  const wrong: readonly (readonly [option: string, values: readonly unknown[]])[] = [
    ...numbers.map((name) => [name, [-1, 0, Number.NaN, Number.POSITIVE_INFINITY, '5', null, {}]] as const),
    ['connect', [null, 'postgres://host/db', {}, connect(), new Pool(), Client]],
    ['table', ['', 7, null, {}]],
    ['columns', [[], [''], 'id', [7], null]],
    ['sql', ['', 7, null]],
    ['rls', ['none', true, null]],
    ['wake', ['each', true, null]],
    ['tables', ['t']],
  ]

  test.each(wrong.flatMap(([option, values]) => values.map((value) => [option, value] as const)))(
    '%s: %j is a TypeError at the call that names it',
    (option, value) => {
      const call = (): unknown => sourceOf({ connect, table: 't', [option]: value })
      expect(call).toThrow(TypeError)
      expect(call).toThrow(option)
    },
  )

  test.each<[object | undefined, string]>([
    [undefined, 'option "connect" is missing'],
    [{ connect, table: 't' }, 'unknown option "table"'],
    [{ connect, holdMs: -1 }, 'option "holdMs" must be a number of at least 0, or Infinity'],
  ])('a database with %o is an OptionError of postgresDatabase', (options, message) => {
    const call = (): unknown => Reflect.apply(postgresDatabase, undefined, [options])
    expect(call).toThrow(OptionError)
    expect(call).toThrow(`postgresDatabase: ${message}`)
  })

  test.each(['connect', 'table'])('a missing %s is a TypeError', (option) => {
    expect(() => sourceOf({ connect, table: 't', [option]: undefined })).toThrow(`option "${option}" is missing`)
  })

  test('trimEveryMs may be false', () => {
    expect(() => sourceOf({ connect, table: 't', trimEveryMs: false })).not.toThrow()
  })

  test('are looked at without connecting', () => {
    let connects = 0
    postgresSource({
      connect: () => {
        connects++
        return connect()
      },
      table: 't',
    })
    expect(connects).toBe(0)
  })
})

describe('a client at its first use', () => {
  const context = { signal: new AbortController().signal, clock: systemClock, random: systemRandom }
  const other = { connect: async () => {}, query: async () => ({ rows: [] }), end: async () => {} }
  const connected = (): Client => Object.defineProperty(connect(), 'processID', { value: 7 })

  test.each([
    ['is not a client of pg 8', () => other, /it did not return a Client of pg 8$/],
    ['is undefined', () => undefined, /it returned undefined$/],
    ['is a Pool', () => new Pool(), /a Pool cannot be used$/],
    ['was connected already', connected, /it returned a client that was connected already$/],
  ])('that %s is an OptionError', async (_flaw, make, message) => {
    const source = postgresSource({ connect: make as never, table: 't' })
    const head = source.head(context)
    await expect(head).rejects.toThrow(OptionError)
    await expect(source.head(context)).rejects.toThrow(message)
    await expect(source.head(context)).rejects.toMatchObject({
      option: 'connect',
      message: expect.stringContaining('new pg.Client(url)'),
    })
  })
})

describe('a mark', () => {
  const source = postgresSource({ connect: () => new Client(), table: 't' })

  test.each([
    ['a pool', { query: async () => ({ rows: [] }), totalCount: 1 }],
    ['nothing', undefined],
    ['a value that is not an object', {}],
  ])('of %s is a TypeError', async (_what, tx) => {
    await expect(source.mark(tx as never)).rejects.toThrow(
      new TypeError('mark: the argument must be the client on which the transaction is open, not a pool'),
    )
  })
})

describe('a key', () => {
  const source = postgresSource({ connect, table: 't' })

  test.each([[[]], [[null]], [[undefined]], [[{}]], [[true]], [[1, null]]])('of %j is a TypeError', (columns) => {
    expect(() => Reflect.apply(source.key, source, columns)).toThrow(TypeError)
  })
})

describe('the options of an installation', () => {
  test.each([
    ['table', ''],
    ['key', 'id'],
    ['level', 'table'],
    ['wake', 'often'],
    ['bulk', 0],
    ['grant', 'reader'],
    ['tables', ['t']],
  ])('%s: %j is a TypeError that names it', (option, value) => {
    const options: unknown = { table: 't', [option]: value }
    const call = (): string => Reflect.apply(installChangeLogSql, undefined, [options])
    expect(call).toThrow(TypeError)
    expect(call).toThrow(option)
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])('to keep %d s of a log is a TypeError', async (seconds) => {
    await expect(trimChangeLogs(connect(), seconds)).rejects.toThrow(TypeError)
  })
})

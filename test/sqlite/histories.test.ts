import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sqliteSource } from '../../adapters/sqlite/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { runs } from '../support/property.js'
import { mirrorOf, newFile, rowsOf } from './support.js'

const TABLES = [
  'CREATE TABLE t (id INTEGER PRIMARY KEY, code TEXT UNIQUE, v)',
  'CREATE TABLE t (id TEXT PRIMARY KEY COLLATE NOCASE, code UNIQUE, v)',
  'CREATE TABLE t (id ANY PRIMARY KEY, code TEXT UNIQUE COLLATE NOCASE, v) WITHOUT ROWID',
]
const id = fc.constantFrom('1', '2', '3', '9007199254740993', `'a'`, `'A'`, `'b'''`, `'1'`)
const code = fc.constantFrom('NULL', `'x'`, `'X'`, `'y'`, `'z'`)
const v = fc.integer({ min: 0, max: 99 })
const verb = fc.constantFrom('INSERT OR REPLACE', 'INSERT OR IGNORE', 'INSERT OR ABORT')
const statement = fc.oneof(
  fc.tuple(verb, id, code, v).map(([insert, ...row]) => `${insert} INTO t VALUES (${row.join(', ')})`),
  fc.tuple(id, id).map(([to, from]) => `UPDATE OR REPLACE t SET id = ${to} WHERE id = ${from}`),
  fc.tuple(code, v).map(([to, from]) => `UPDATE OR REPLACE t SET code = ${to} WHERE v < ${from}`),
  fc.tuple(id, v).map(([of, to]) => `UPDATE t SET v = ${to}, code = code WHERE id >= ${of}`),
  id.map((of) => `DELETE FROM t WHERE id = ${of}`),
  fc.constant('DELETE FROM t'),
)
const transaction = fc.record({
  statements: fc.array(statement, { minLength: 1, maxLength: 6 }),
  end: fc.constantFrom('COMMIT', 'COMMIT', 'ROLLBACK'),
  pauseMs: fc.constantFrom(undefined, 0, 2),
})

test('[Z1] after any history a mirror with a condition equals a SELECT', { timeout: 300_000 }, async () => {
  const history = fc.array(transaction, { minLength: 1, maxLength: 15 })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...TABLES), history, async (table, transactions) => {
      const { path, writer } = newFile(table)
      const mirror = await mirrorOf(path, 't', { sql: 'v < 50', integers: 'bigint' })
      for (const { statements, end, pauseMs } of transactions) {
        writer.exec('BEGIN')
        for (const each of statements) {
          try {
            writer.exec(each)
          } catch (error) {
            expect(String(error)).toMatch(/constraint|datatype mismatch/)
          }
        }
        writer.exec(end)
        if (pauseMs !== undefined) await systemClock.sleep(pauseMs)
      }
      await mirror.informer.waitFor(sqliteSource({ connect: () => writer, table: 't' }).mark(writer))
      await mirror.until(() => rowsOf(writer, 't', 'v < 50'))
      expect(mirror.lists()).toBe(1)
      await mirror.informer.stop()
      writer.close()
    }),
    runs(25),
  )
})

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Database, useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { expectEnd, listwatch, main, node, resultOf, shell, urlOf } from './support.js'

interface Line {
  readonly type: 'add' | 'update' | 'delete' | 'synced'
  readonly key: string
  readonly object: unknown
  readonly previous: unknown
  readonly origin: string
  readonly size?: number
}

/** The objects that result from the lines so far. Throws if a line does not follow from those before it. */
function fold(lines: readonly string[]): Map<string, unknown> {
  const objects = new Map<string, unknown>()
  for (const text of lines) {
    const { type, key, object, previous } = JSON.parse(text) as Line
    if (type === 'synced') continue
    expect(objects.has(key), text).toBe(type !== 'add')
    expect(previous, text).toEqual(objects.get(key))
    if (type === 'delete') objects.delete(key)
    else objects.set(key, object)
  }
  return objects
}

describeServer('postgres 18', 'watch', useServer, (at) => {
  async function orders(count: number): Promise<Database> {
    const db = await at.prepared(
      'CREATE TABLE orders (id bigint PRIMARY KEY, tenant text, tags text[], total numeric, at timestamptz)',
    )
    await db.sql(
      `INSERT INTO orders SELECT g, CASE g % 4 WHEN 0 THEN 'acme' ELSE 'birch' END, ARRAY['a', 't' || g % 2], g / 7.0, to_timestamp(g) FROM generate_series(1, $1::int) g`,
      [count],
    )
    await db.install('orders')
    return db
  }

  describe('--json', () => {
    test('folded, equals the table at any time: while it is written to, and after the connection was killed', async () => {
      const db = await orders(500)
      const child = listwatch(['watch', urlOf(db), '--table', 'orders', '--json'])
      const equalsTable = async (): Promise<boolean> => {
        const rows = await db.sql('SELECT * FROM orders')
        const told = fold(child.lines)
        const table = new Map(rows.map((row) => [String(row['id']), JSON.parse(JSON.stringify(row)) as unknown]))
        return (
          told.size === table.size && [...table].every(([key, row]) => expect.anything() && same(told.get(key), row))
        )
      }
      await child.until(() => child.lines.some((line) => line.startsWith('{"type":"synced"')), 'the first list')
      expect(child.lines.filter((line) => line.includes('"origin":"initial"'))).toHaveLength(500)
      expect(JSON.parse(child.lines.at(-1) ?? '')).toMatchObject({ type: 'synced', size: 500 })
      await db.sql(`UPDATE orders SET tenant = 'cedar' WHERE id % 5 = 0; DELETE FROM orders WHERE id % 7 = 0`)
      await db.sql(`INSERT INTO orders SELECT g, 'late' FROM generate_series(1001, 1100) g`)
      await waitUntil('the lines to give the table', equalsTable)
      await db.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listwatch'`)
      await db.sql(`UPDATE orders SET total = total + 1; INSERT INTO orders VALUES (9007199254740993, NULL)`)
      await waitUntil('the lines to give the table again', equalsTable)
      expect(child.errors).toMatch(/^listwatch: watch of postgres:orders .*; reconnecting in .*\n$/)
      expect(child.lines.filter((line) => line.startsWith('{"type":"synced"'))).toHaveLength(1)
      await expectEnd(child, 'SIGTERM')
    })

    test.each(['SIGINT', 'SIGTERM'] as const)('%s ends it with exit code 0 and whole lines', async (signal) => {
      const db = await orders(5)
      const child = listwatch(['watch', urlOf(db), '--table', 'orders', '--json'])
      await child.until(() => child.output.includes('synced'), 'the first list')
      child.kill(signal)
      const late = AbortSignal.timeout(5_000)
      late.addEventListener('abort', () => child.kill('SIGKILL'))
      await expectEnd(child)
      expect([child.errors, child.output.at(-1)]).toEqual(['', '\n'])
    })

    test('SIGTERM ends it even if its output is not read', async () => {
      const db = await orders(20_000)
      const child = spawn(node, [main, 'watch', urlOf(db), '--table', 'orders', '--json'], { stdio: 'pipe' })
      onTestFinished(() => void child.kill('SIGKILL'))
      await once(child.stdout, 'readable')
      child.kill('SIGTERM')
      expect(await once(child, 'exit')).toEqual([0, null])
    })

    test('SIGTERM ends it silently, even before the first list is complete', async () => {
      const db = await orders(5)
      const blocker = await db.connect()
      await blocker.query('BEGIN; LOCK TABLE orders')
      const child = listwatch(['watch', urlOf(db), '--table', 'orders', '--json'])
      const waiting = `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'listwatch' AND wait_event_type = 'Lock'`
      await waitUntil('the list to wait', async () => (await db.value(waiting)) === '1')
      await expectEnd(child, 'SIGTERM')
      expect([child.output, child.errors]).toEqual(['', ''])
    })

    test('a closed pipe ends it silently, at the next change', async () => {
      const db = await orders(5)
      const child = shell(`listwatch watch ${urlOf(db)} --table orders --json | head -1`)
      await child.until(() => child.lines.length === 1, 'the first line')
      const isOver = child.ended.then(() => true)
      while (!(await Promise.race([isOver, sleep(100)]))) await db.sql('UPDATE orders SET total = total + 1')
      expect([await child.ended, child.errors]).toEqual([{ code: 0, signal: null }, ''])
    })

    test('--columns, --sql and --for take effect', async () => {
      const db = await orders(8)
      const args = ['--columns', 'tenant', '--sql', "tenant = 'acme'", '--for', '1ms', '--json']
      const { code, output } = await resultOf(listwatch(['watch', urlOf(db), '--table', 'orders', ...args]))
      const told = fold(output.trimEnd().split('\n'))
      expect([code, told]).toEqual([0, new Map(['4', '8'].map((id) => [id, { id, tenant: 'acme' }]))])
    })
  })

  describe('in a pipe', () => {
    test('prints a line now and then, and nothing that is for a terminal', async () => {
      const db = await orders(5)
      const child = listwatch(['watch', urlOf(db), '--table', 'orders', '--index', 'tenant'], {
        env: { FORCE_COLOR: undefined },
      })
      await child.until(() => child.lines.length > 0, 'a line')
      await expectEnd(child, 'SIGINT')
      expect(child.output).toMatch(/^(live: 5 rows, 0 changes\/s, 0 relists, 0 reconnects\n)+stopped: 5 rows, .*\n$/)
      expect(child.errors).toBe('')
    })

    test('ends with a line, however soon', async () => {
      const db = await orders(5)
      const { output, errors } = await resultOf(listwatch(['watch', urlOf(db), '--table', 'orders', '--for', '1ms']))
      expect({ output, errors }).toEqual({ output: expect.stringMatching(/^stopped: 5 rows, .*\n$/), errors: '' })
    })
  })
})

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Database, type Row, useServer } from '../postgres/support.js'
import { describeServer } from '../servers/index.js'
import { waitUntil } from '../servers/wait-until.js'
import type { Child } from '../support/child.js'
import { expectEnd, listwatch, refusalOf, resultOf, shell, urlOf } from './support.js'

const OUTCOME =
  /^mirror ([\d ]+) rows, table ([\d ]+) rows, 0 differ; [\d ]+ changes in \d+ s, 2 (?:disconnects|killed writers), (\d+) reconnects?, 0 relists; lag p50 \d+ ms, p99 \d+ ms; heap [\d.]+ → [\d.]+ MB$/

/** A temporary folder for one demo. Whether that is gone, with all that lived in it, is seen there. */
class Room {
  readonly path: string = mkdtempSync(join(tmpdir(), 'room-'))

  constructor() {
    chmodSync(this.path, 0o755) // Else a server that does not run as we do is given another folder.
    onTestFinished(() => rmSync(this.path, { recursive: true, force: true }))
  }

  start(args: readonly string[], env: NodeJS.ProcessEnv = {}): Child {
    return listwatch(['demo', ...args], { env: { TMPDIR: this.path, ...env } })
  }

  get isEmpty(): boolean {
    return readdirSync(this.path).length === 0
  }

  /** The guards remove what is left just after the end. */
  async expectLeft(): Promise<void> {
    await waitUntil('the folder to be empty', () => this.isEmpty)
    await waitUntil('all its processes to be gone', async () => {
      const { output } = await resultOf(shell(`ps -eo args= | grep -v grep | grep -c ' ${this.path}'`))
      return output.trim() === '0'
    })
  }
}

describe('demo --engine sqlite', () => {
  const start = (...args: readonly string[]): { readonly room: Room; readonly child: Child } => {
    const room = new Room()
    return { room, child: room.start(['--engine', 'sqlite', ...args]) }
  }

  test('needs no server, follows a writer that is killed, and leaves nothing', async () => {
    const { room, child } = start('--for', '6s', '--disconnects', '2')
    await expectEnd(child)
    expect(child.errors).toBe('')
    const [, mirror, table, reconnects] = OUTCOME.exec(child.lines.at(-1) ?? '') ?? []
    expect([child.lines[0], reconnects]).toEqual(['starting a writer of a SQLite file …', '0'])
    expect(mirror).toBe(table)
    await room.expectLeft()
  })

  test.each(['SIGINT', 'SIGKILL'] as const)('%s ends the writer too, and leaves nothing', async (signal) => {
    const { room, child } = start('--json')
    const running = `ps -eo args= | grep -v grep | grep -q 'sqlite-writer.js ${room.path}'`
    await waitUntil('the writer', async () => (await resultOf(shell(running))).code === 0)
    child.kill(signal)
    expect((await child.ended).code).toBe(signal === 'SIGINT' ? 0 : null)
    if (signal === 'SIGINT') expect(JSON.parse(child.output)).toMatchObject({ engine: 'sqlite', differences: 0 })
    await room.expectLeft()
  })
})

describeServer('postgres 18', 'demo', useServer, (at) => {
  test('ends with one line that compares mirror and table, exit code 0, and leaves nothing', async () => {
    const room = new Room()
    const child = room.start(['--for', '6s', '--disconnects', '2'])
    await expectEnd(child)
    expect(child.errors).toBe('')
    const [, mirror, table, reconnects] = OUTCOME.exec(child.lines.at(-1) ?? '') ?? []
    expect(mirror, child.output).toMatch(/^\d [\d ]+$/)
    expect(mirror).toBe(table)
    expect(Number(reconnects)).toBeGreaterThanOrEqual(2)
    expect(child.lines[0]).toBe('starting a Postgres server …')
    expect(child.output).not.toContain('\x1b')
    await room.expectLeft()
  })

  test('--json prints one object and nothing else; it needs no readable home directory', async () => {
    const room = new Room()
    const child = room.start(['--for', '2s', '--disconnects', '1', '--json'], { HOME: '/nowhere/at/all' })
    await expectEnd(child)
    expect([child.lines.length, child.errors]).toEqual([1, ''])
    const outcome = JSON.parse(child.output) as { mirrorRows: number; tableRows: number }
    expect(outcome).toMatchObject({ differences: 0, disconnects: 1, relists: 0 })
    expect(outcome.mirrorRows).toBe(outcome.tableRows)
    expect(outcome.tableRows).toBeGreaterThan(1_000)
    await room.expectLeft()
  })

  test('prints the address of the inspector, which shows its mirror; --no-inspect leaves it out', async () => {
    const room = new Room()
    const child = room.start([])
    const pageOf = ({ lines }: Child): RegExpExecArray | undefined =>
      lines
        .map((line) => /^in a browser: (http:\/\/127\.0\.0\.1:\d+)\/#token=(\S+)$/.exec(line))
        .find((found) => found !== null)
    await child.until(() => pageOf(child) !== undefined, 'the address')
    const [, origin = '', token = ''] = pageOf(child) ?? []
    const response = await fetch(`${origin}/api/status`, { headers: { authorization: `Bearer ${token}` } })
    expect([response.status, await response.json()]).toEqual([
      200,
      expect.objectContaining({ name: 'postgres:orders' }),
    ])
    const hidden = new Room()
    const without = hidden.start(['--no-inspect'])
    await without.until(() => without.lines.some((line) => line.startsWith('live: ')), 'it to run')
    expect(pageOf(without)).toBeUndefined()
    for (const each of [child, without]) {
      each.kill('SIGINT')
      expect((await each.ended).code).toBe(0)
    }
    for (const each of [room, hidden]) await each.expectLeft()
  })

  describe('SIGINT', () => {
    test('in the middle ends it with its comparison', async () => {
      const room = new Room()
      const child = room.start([], { HOME: undefined })
      await child.until(() => child.lines.some((line) => line.startsWith('live: ')), 'it to run')
      expect(room.isEmpty).toBe(false)
      await expectEnd(child, 'SIGINT')
      expect(child.lines.at(-1)).toMatch(/^mirror .* 0 differ; /)
      expect(child.errors).toBe('')
      await room.expectLeft()
    })

    test('before the server is up ends it without a comparison, as the exit code says', async () => {
      const room = new Room()
      const child = room.start([])
      await waitUntil('it to start', () => !room.isEmpty)
      child.kill('SIGINT')
      const { code } = await child.ended
      expect([code, child.lines.length, child.errors]).toEqual([130, 1, ''])
      await room.expectLeft()
    })
  })

  test('SIGKILL leaves nothing either', async () => {
    const room = new Room()
    const child = room.start([])
    await child.until(() => child.lines.some((line) => line.startsWith('live: ')), 'it to run')
    child.kill('SIGKILL')
    expect(await child.ended).toEqual({ code: null, signal: 'SIGKILL' })
    await room.expectLeft()
  })

  describe('with the URL of a server', () => {
    const databasesOf = async (db: Database): Promise<Row[]> => {
      const all = await db.sql('SELECT datname FROM pg_database')
      return all.filter(({ datname }) => String(datname).startsWith('listwatch_demo'))
    }

    test('uses a database of its own there, and removes it', async () => {
      const db = await at.prepared('CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (7)')
      const room = new Room()
      const child = room.start([urlOf(db), '--for', '6s', '--disconnects', '2'])
      await child.until(() => child.lines.some((line) => line.startsWith('live: ')), 'it to run')
      expect(await databasesOf(db)).toHaveLength(1)
      expect(room.isEmpty).toBe(true)
      await expectEnd(child)
      expect(child.errors).toBe('')
      expect(child.lines.at(-1)).toMatch(OUTCOME)
      expect(await databasesOf(db)).toEqual([])
      expect(await db.sql('SELECT * FROM orders')).toEqual([{ id: 7 }])
    })

    test('without the right to create a database it is refused, and the error names the right', async () => {
      const db = await at.prepared((name) => `CREATE ROLE ${name}_plain LOGIN`)
      expect(await refusalOf(listwatch(['demo', urlOf(db, `${db.name}_plain`), '--json']))).toBe(
        'the user of the URL may not create a database; run: ALTER ROLE … CREATEDB',
      )
    })
  })
})

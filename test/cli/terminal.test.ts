import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { postgresChecks } from '../../cli/doctor/postgres.js'
import { useServer } from '../postgres/support.js'
import { useRedis } from '../redis/support.js'
import { describeServer } from '../servers/index.js'
import type { Child } from '../support/child.js'
import { portOf } from '../support/listening.js'
import { root } from '../support/sources.js'
import { main, node, resultOf, temporaryFolder, urlOf } from './support.js'
import { Terminal } from './terminal.js'
import { hasScript, Typing } from './typing.js'

/** Wider than every picture. */
const WIDEST = 500

interface Session {
  readonly child: Child
  readonly terminal: () => Terminal
  readonly press: (keys: string) => void
  readonly picture: () => readonly string[]
  /** Makes the terminal wider or narrower. */
  readonly resize: (columns: number) => void
  /** Waits until the terminal shows this. */
  readonly shows: (what: string | RegExp) => Promise<void>
  /** The command ends, after this key if there is one, and leaves nothing behind: the cursor is there, and the margins. */
  readonly ends: (key?: string, code?: number) => Promise<void>
}

/** The bytes of one picture: a synchronized update. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a terminal receives such characters.
const PICTURE = /\x1b\[\?2026h(.*?)\x1b\[\?2026l/gs

/** Runs the command line on a terminal of this size. */
function onTerminal(args: readonly string[], columns = 100, env: NodeJS.ProcessEnv = {}, rows = 30): Session {
  const words = [node, main, ...args].map((word) => `'${word}'`).join(' ')
  const device = join(temporaryFolder(), 'device')
  const child = new Typing(`tty > '${device}'; stty rows ${rows} cols ${columns}; exec ${words}`, {
    cwd: root,
    env: { ...process.env, NO_COLOR: undefined, FORCE_COLOR: undefined, TERM: 'xterm', CI: undefined, ...env },
  })
  onTestFinished(() => child[Symbol.asyncDispose]())
  const terminal = (): Terminal => {
    const made = new Terminal(columns)
    made.write(child.output)
    return made
  }
  const picture = (): readonly string[] => {
    const made = new Terminal(WIDEST)
    made.write([...child.output.matchAll(PICTURE)].at(-1)?.[1] ?? '')
    return made.text.split('\n')
  }
  const resize = (to: number): void => {
    execFileSync('stty', ['-F', readFileSync(device, 'utf8').trim(), 'cols', `${to}`])
  }
  const shows = (what: string | RegExp): Promise<void> =>
    child.until(
      () => (typeof what === 'string' ? terminal().text.includes(what) : what.test(terminal().text)),
      `${what}`,
    )
  const ends = async (key = '', code = 0): Promise<void> => {
    if (key !== '') child.type(key)
    expect(await child.ended).toEqual({ code, signal: null })
    expectTidy(terminal())
  }
  return { child, terminal, press: (keys) => child.type(keys), picture, resize, shows, ends }
}

function expectTidy({ isCursorVisible, hasMargins, unknown }: Terminal): void {
  expect({ isCursorVisible, hasMargins, unknown }).toEqual({ isCursorVisible: true, hasMargins: true, unknown: [] })
}

describe.skipIf(!hasScript)('on a terminal (needs script, of util-linux)', () => {
  test('k kills the writer of the demo of SQLite, and the mirror stays live', async () => {
    const { terminal, press, shows, ends } = onTerminal(['demo', '--engine', 'sqlite'])
    await shows('live')
    press('k')
    await shows(/writer +killed 1 time +table.* 0 times\s+live after \d+ ms/)
    await ends('q')
    expect(terminal().text).toMatch(
      /\n\[k\] kill the writer .*\nmirror .* 0 differ\n.* 1 killed writer, 0 reconnects, 0 relists\n/,
    )
  })

  describeServer('postgres 18', 'the demo', () => {
    test('k kills the connection, q ends with the comparison under the last picture', async () => {
      const { terminal, press, shows, ends } = onTerminal(['demo'])
      await shows('live')
      press('k')
      await shows(/killed 1 time, resumed 1 time\b.*→ live after \d+ ms/s)
      await ends('q')
      const { text, frames } = terminal()
      expect(text).toMatch(/^starting a Postgres server …\nin a browser: http:.*\nlistwatch postgres:orders/)
      expect(text).toMatch(
        /\n\[k\] kill the connection {3}\[q\] .*\nmirror .* 0 differ\n.* 1 disconnect, 1 reconnect, 0 relists\n/,
      )
      expect(text.match(/listwatch postgres:orders/g)).toHaveLength(1)
      // No frame is half a picture.
      const pictures = frames.filter((frame) => frame.includes('listwatch postgres'))
      expect(pictures.length).toBeGreaterThan(2)
      expect(pictures.filter((frame) => !frame.includes('[q] compare'))).toEqual([])
    })

    test('of 40 columns nothing wraps and nothing is drawn twice', async () => {
      const { child, terminal, shows, ends } = onTerminal(['demo'], 40)
      await shows(/changes\/s [1-9]/)
      // Only the address of the page, which is never cut.
      const [, page = ''] = /(in a browser: http\S+#token=[0-9a-f]{32})\r?\n/.exec(child.output) ?? []
      expect(terminal().wraps).toBe(Math.floor((page.length - 1) / 40))
      expect(page).not.toBe('')
      expect(terminal().text).toMatch(/\n\[k\] kill the connection\n\[q\] compare mirror and table, and quit$/)
      expect(terminal().text.match(/listwatch postgres:orders/g)).toHaveLength(1)
      expect(terminal().isCursorVisible).toBe(false)
      await ends('\x03')
      expect(terminal().text.replaceAll('\n', '')).toContain(' 0 differ')
    })

    test('NO_COLOR is obeyed', async () => {
      const { child, shows, ends } = onTerminal(['demo'], 100, { NO_COLOR: '1' })
      await shows('live')
      await ends('q')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are colours.
      expect(child.output).not.toMatch(/\x1b\[[\d;]*m/)
    })

    test('Ctrl-C while the server starts ends it with no picture', async () => {
      const { child, terminal, press } = onTerminal(['demo'])
      await child.until(() => child.output.includes('starting'), 'the start')
      press('\x03')
      expect((await child.ended).signal).toBeNull()
      expectTidy(terminal())
    })
  })

  describeServer('postgres 18', 'watch', useServer, (at) => {
    /** Watches the table that the SQL makes, until the picture is there. */
    const watching = async (sql: string, args: readonly string[], columns?: number, rows?: number) => {
      const db = await at.installed(sql, 'orders')
      const session = onTerminal(['watch', urlOf(db), '--table', 'orders', ...args], columns, {}, rows)
      await session.shows('live')
      return { db, ...session }
    }

    test('shows the table, its indexes and what happens; values cannot steer the terminal', async () => {
      const { db, terminal, shows, ends } = await watching(
        `CREATE TABLE orders (id int PRIMARY KEY, tenant text);
        INSERT INTO orders VALUES (1, 'acme'), (2, 'acme'), (3, E'e\\x1b[2Jvil\\n')`,
        ['--index', 'tenant'],
      )
      expect(terminal().text).toMatch(/^reading orders …\nlistwatch postgres:orders .*\nrows 3 /)
      expect(terminal().text).toContain('\nby tenant   acme 2   e�[2Jvil� 1\n')
      await db.sql(`INSERT INTO orders VALUES (4, 'birch')`)
      await shows('birch 1')
      await ends('q')
      expect(terminal().text).toMatch(/\n\[q\] quit$/)
    })

    test('shows several tables below each other, and the changes of a commit under one time', async () => {
      const db = await at.installed('CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (LIKE a INCLUDING ALL)', 'a')
      await db.install('b')
      const { terminal, shows, ends } = onTerminal(['watch', urlOf(db), '--table', 'a', '--table', 'b'])
      await shows(/^listwatch postgres:b +live/m)
      await db.sql('BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (2); COMMIT')
      await shows('+ b 2')
      await ends('q')
      expect(terminal().text).toMatch(
        /^reading a, b …\n\d\d:\d\d:\d\d \+ a 1 .*\n {9}\+ b 2 .*\nlistwatch postgres:a .*\nrows 1 .*\nlistwatch postgres:b .*\nrows 1 .*\n\[q\] quit$/,
      )
    })

    test('prints each change above the picture, with the chosen fields', async () => {
      const { db, terminal, shows, ends } = await watching(
        `CREATE TABLE orders (id int PRIMARY KEY, status text, doc jsonb);
        INSERT INTO orders VALUES (1, 'open', '{"a":1}')`,
        ['--fields', 'status,doc.a'],
      )
      await db.sql(`INSERT INTO orders VALUES (2, 'new', '{}')`)
      await shows('+ 2')
      await db.sql(`UPDATE orders SET status = 'paid'`)
      await shows('new → paid')
      await db.sql('DELETE FROM orders WHERE id = 1')
      await shows('- 1')
      await ends('q')
      const lines = terminal().text.split('\n')
      const changes = lines.slice(1, 5).map((line) => line.replace(/^\d\d:\d\d:\d\d /, ''))
      expect(changes.sort()).toEqual([
        '+ 2 status=new doc.a=–',
        '- 1 status=paid doc.a=1',
        '~ 1 status=open → paid doc.a=1',
        '~ 2 status=new → paid doc.a=–',
      ])
      expect(lines[5]).toMatch(/^listwatch postgres:orders/)
      expect(terminal().text.match(/listwatch postgres:orders/g)).toHaveLength(1)
    })

    test('of 40 columns and 6 rows cuts changes to one line each, and leaves half of the rows to them', async () => {
      const table = `CREATE TABLE orders (id int PRIMARY KEY, note text); INSERT INTO orders VALUES (1, 'a')`
      const { db, terminal, shows, ends } = await watching(table, ['--index', 'note'], 40, 6)
      await db.sql(`UPDATE orders SET note = repeat('long ', 20)`)
      await shows('~ 1')
      await ends('q')
      const [, change = '', ...picture] = terminal().text.split('\n')
      expect(change).toMatch(/^\d\d:\d\d:\d\d ~ 1 note=a → "long long.*…$/)
      expect([change.length, picture.length, terminal().wraps]).toEqual([40, 3, 0])
    })

    test('draws lines that fit after the terminal became narrower, and whole ones after it became wider', async () => {
      const { child, picture, resize, ends } = await watching(
        `CREATE TABLE orders (id int PRIMARY KEY, note text); INSERT INTO orders VALUES (1, repeat('long ', 9))`,
        ['--index', 'note'],
      )
      const widest = (): number => Math.max(...picture().map((line) => line.length))
      const before = picture().length
      expect(widest()).toBeGreaterThan(40)
      resize(40)
      await child.until(() => widest() <= 40, 'lines of at most 40 columns')
      expect(picture().length).toBeGreaterThan(before)
      resize(120)
      await child.until(() => widest() > 40 && picture().length === before, 'whole lines')
      await ends('q')
    })

    test('--json shows nothing but the lines', async () => {
      const db = await at.installed('CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1)', 'orders')
      const { child } = onTerminal(['watch', urlOf(db), '--table', 'orders', '--json', '--for', '1ms'])
      const { code, output } = await resultOf(child)
      expect(code).toBe(0)
      const types = output
        .trimEnd()
        .split('\r\n')
        .map((line) => (JSON.parse(line) as { type: string }).type)
      expect(types).toEqual(['add', 'synced'])
    })
  })

  describeServer('postgres 18', 'list and get', useServer, (at) => {
    test('list prints a table that fits; values cannot steer the terminal', async () => {
      const db = await at.installed(
        `CREATE TABLE orders (id int PRIMARY KEY, tenant text, doc jsonb, note text);
        INSERT INTO orders VALUES (1, 'acme', '{"a":1}', 'short'), (20, E'e\\x1b[2Jvil', '{}', repeat('long ', 20))`,
        'orders',
      )
      const { terminal, ends } = onTerminal(['list', urlOf(db), '--table', 'orders'], 60)
      await ends()
      const [header, ...rows] = terminal().text.split('\n')
      expect(header).toBe('KEY  ID  TENANT    NOTE')
      expect(rows.sort()).toEqual([
        '1    1   acme      short',
        expect.stringMatching(/^20 {3}20 {2}"?e.*vil"? +"long long .*…$/),
      ])
      expect(terminal().wraps).toBe(0)
    })

    test('--fields selects the columns; get prints indented JSON', async () => {
      const db = await at.installed(
        `CREATE TABLE orders (id int PRIMARY KEY, doc jsonb); INSERT INTO orders VALUES (1, '{"a":{"b":"c d"}}')`,
        'orders',
      )
      const list = onTerminal(['list', urlOf(db), '--table', 'orders', '--fields', 'doc.a.b,doc.x'])
      await list.child.ended
      expect(list.terminal().text).toBe('KEY  DOC.A.B  DOC.X\n1    "c d"    –')
      const get = onTerminal(['get', urlOf(db), '--table', 'orders', '1'])
      await get.child.ended
      expect(get.terminal().text).toBe(JSON.stringify({ id: 1, doc: { a: { b: 'c d' } } }, undefined, 2))
    })
  })

  describeServer('postgres 18', 'verify', useServer, (at) => {
    test('shows its step and the number of objects that it has read, and only the result at the end', async () => {
      const db = await at.installed(
        `CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders SELECT g FROM generate_series(1, 3000) g`,
        'orders',
      )
      const { terminal, ends } = onTerminal(['verify', urlOf(db), '--table', 'orders', '--for', '1s'])
      await ends()
      const { text, frames } = terminal()
      expect(text).toBe('3 000 rows compared, 0 differ')
      const steps = new Set(frames.flatMap((frame) => /^\w+ orders/.exec(frame)?.[0] ?? []))
      expect([...steps]).toEqual(['reading orders', 'following orders', 'comparing orders'])
      expect(frames).toContain('reading orders: 3 000 objects')
    })
  })

  describeServer('postgres 18', 'doctor', useServer, (at) => {
    test('shows which check runs and of how many, and only the result at the end', async () => {
      const db = await at.installed('CREATE TABLE orders (id int PRIMARY KEY)', 'orders')
      const { terminal, ends } = onTerminal(['doctor', urlOf(db), '--table', 'orders'])
      await ends()
      const { text, frames } = terminal()
      const { length } = postgresChecks
      expect(text).toBe(`${length} checks: 0 errors, 0 warnings`)
      const lines = ['connecting', ...postgresChecks.map(({ name }, n) => `check ${n + 1} of ${length}: ${name}`)]
      expect([...new Set(frames.filter((frame) => lines.includes(frame)))]).toEqual(lines)
    })

    test('--json shows nothing but the line', async () => {
      const db = await at.installed('CREATE TABLE orders (id int PRIMARY KEY)', 'orders')
      const { child } = onTerminal(['doctor', urlOf(db), '--table', 'orders', '--json'])
      expect((await child.ended).code).toBe(0)
      expect(child.output).toMatch(/^\{"checks":\d+,"findings":\[\]\}\r\n$/)
    })
  })

  test.each([
    ['watch', /^reading orders …\nlistwatch: cannot connect to /],
    ['doctor', /^listwatch: cannot connect to /],
  ])('%s that fails leaves one line, and the cursor', async (command, says) => {
    const { terminal, ends } = onTerminal([command, 'postgres://u@127.0.0.1:1/db', '--table', 'orders'])
    await ends('', 2)
    expect(terminal().text).toMatch(says)
  })

  test.each([30, 60, 79])('help of %i columns breaks lines between words only', async (columns) => {
    const { child, terminal } = onTerminal(['watch', '--help'], columns)
    expect(await child.ended).toEqual({ code: 0, signal: null })
    const [help = '', examples = ''] = terminal().text.split('\nExamples:\n')
    expect(help.replace(/\s+/g, ' ')).toContain('--index <column> index by this column; may be given more than once')
    expect(child.output).toContain('  listwatch watch postgres://user@host/db --table orders --index tenant')
    // The terminal itself breaks nothing but the URLs and examples that are longer than a line.
    const [before = ''] = child.output.split('\nExamples:')
    const long = before.split('\r\n').filter((line) => line.length > columns)
    expect(long.filter((line) => /\S \S/.test(line.trim()))).toEqual([])
    expect(examples).not.toBe('')
  })

  test('Ctrl-C ends doctor while it connects, and erases its progress', async () => {
    const silent = createServer()
    const url = `redis://127.0.0.1:${await portOf(silent)}`
    const { child, terminal, press } = onTerminal(['doctor', url, '--keys', 'user:*'])
    await once(silent, 'connection')
    await child.until(() => terminal().text === 'connecting', 'the progress')
    press('\x03')
    await child.ended
    expect(terminal().text).toBe('')
    expectTidy(terminal())
  })

  describeServer('postgres 18', 'relay', useServer, (at) => {
    describeServer('redis 7.0', 'to Redis', useRedis, (own) => {
      test('serve prints its address, and q ends it', async () => {
        const { child, shows, ends } = onTerminal(['serve', own.redis.url, '--keys', 'a*'], 40)
        await shows('[q] quit')
        await ends('q')
        expect(child.output).toMatch(/^http:\S+#token=[0-9a-f]{32}\r\n/)
      })

      test('shows the mirror and the store, and q writes pending changes and ends', async () => {
        const table = 'CREATE TABLE orders (id int PRIMARY KEY); INSERT INTO orders VALUES (1), (2)'
        const relay = ['relay', urlOf(await at.installed(table, 'orders')), '--table', 'orders', '--to', own.redis.url]
        const { terminal, shows, ends } = onTerminal(relay)
        await shows('to redis:relay:orders   live')
        expect(terminal().text).toMatch(/listwatch postgres:orders .*\nobjects 2 /)
        expect(terminal().text).toMatch(/batches 1 .*waiting 0\s+relays 1/)
        await ends('q')
        expect(terminal().text).toMatch(/\n\[q\] quit$/)
      })
    })
  })
})

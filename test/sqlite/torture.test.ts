import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/contract/clock.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { mirrorOf, newFile, rowsOf } from './support.js'

const ROUNDS = Number(process.env['LISTWATCH_SQLITE_CHECKS'] ?? 6)
const SEED = Number(process.env['LISTWATCH_SQLITE_SEED'] ?? 1)
const TABLES = `CREATE TABLE items (id INTEGER PRIMARY KEY, code TEXT UNIQUE, v);
  CREATE TABLE parts (id INTEGER PRIMARY KEY, item INTEGER REFERENCES items ON DELETE CASCADE ON UPDATE CASCADE)`
const hasPython = spawnSync('python3', ['-c', 'import sqlite3']).status === 0

test.skipIf(!hasPython).each(['wal', 'delete'])(
  '[Z1] writers of Node and of Python are killed at any moment, and each mirror is exact: journal mode %s',
  { timeout: 60_000 + ROUNDS * 10_000 },
  async (journalMode) => {
    const { path, writer } = newFile(TABLES, journalMode)
    const mirrors = await Promise.all([mirrorOf(path, 'items'), mirrorOf(path, 'parts')])
    const random = new SeededRandom(SEED)
    for (let round = 0; round < ROUNDS; round++) {
      const seed = String(Math.floor(random.next() * 1e9))
      const [script, other] = ['mjs', 'py'].map((ending) =>
        fileURLToPath(new URL(`torture-writer.${ending}`, import.meta.url)),
      )
      const children = [
        spawn(process.execPath, [script ?? '', path, seed], { stdio: ['ignore', 'ignore', 'inherit'] }),
        spawn('python3', [other ?? '', path, seed], { stdio: ['ignore', 'ignore', 'inherit'] }),
      ].map((child) => ({ child, ended: once(child, 'exit') }))
      await systemClock.sleep(300 + 500 * random.next())
      await Promise.all(
        children.map(async ({ child, ended }) => {
          child.kill('SIGKILL')
          expect(await ended).toEqual([null, 'SIGKILL'])
        }),
      )
      for (const [i, table] of ['items', 'parts'].entries()) await mirrors[i]?.until(() => rowsOf(writer, table))
    }
    for (const { lists, errors } of mirrors) expect([lists(), errors]).toEqual([1, []])
    expect(Number(writer.prepare('SELECT max(n) AS n FROM listwatch_log').get()?.['n'])).toBeGreaterThan(5 * ROUNDS)
  },
)

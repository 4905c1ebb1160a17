import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installChangeLog } from 'listwatch/postgres'
import pg from 'pg'
import { startPostgres } from '../dist/tools/postgres/postgres-server.js'
import { atMost, type Benchmark, contest, type Figure, inTurn, median } from './figures.ts'
import type { WarmStart } from './workers/warm-start.ts'

const ROWS = 1_000_000
/** A table is read more slowly. */
const POSTGRES_ROWS = 200_000
const ROUNDS = 3
const READY_MS = 250
const LONGEST_SAVE_MS = 20
/** As for a list. Most of it is the collection of garbage in a heap that grows to 600 MB. */
const LONGEST_START_MS = 50
const SAVE_SHARE = 5
/** The default of `saveEveryMs`. With 5 000 changes a second a save begins that often. */
const SAVE_EVERY_MS = 60_000

const TABLE_SQL = `CREATE TABLE bench (id text PRIMARY KEY, tenant text NOT NULL, status text NOT NULL, created int NOT NULL, note text NOT NULL);
INSERT INTO bench SELECT g::text, 'tenant-' || g % 1000, 's' || g % 7, g, repeat('x', 220) FROM generate_series(0, ${POSTGRES_ROWS - 1}) g;
ANALYZE bench`

/** The start from a file, against the start from a list, each in a process of its own. */
export const warmStart: Benchmark = {
  name: 'warm-start',
  about: `${ROWS} rows of 300 B with three indexes, from the start of the process to the first right reads`,
  async run() {
    const folder = mkdtempSync(join(tmpdir(), 'warm-start-'))
    try {
      const path = join(folder, 'bench.cache')
      const runWith = (contestant: string, flags: readonly string[]): Promise<WarmStart> =>
        contest<WarmStart>('warm-start', [contestant, String(ROWS), path], flags)
      const run = (contestant: string) => () => runWith(contestant, [])
      const saveAnew = (): Promise<WarmStart> => {
        rmSync(path, { force: true }) // A mirror that resumed from it would have nothing to save.
        return runWith('save', ['--expose-gc'])
      }
      const save = await inTurn(ROUNDS, { save: saveAnew })
      const starts = await inTurn(ROUNDS, { cache: run('cache'), list: run('list') })
      const fileMb = Math.round(statSync(path).size / 1e6)
      const small = await againstPostgres(join(folder, 'small.cache'))
      return figures({ ...save, ...starts, ...small }, fileMb)
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
}

async function againstPostgres(path: string): Promise<Readonly<Record<string, readonly WarmStart[]>>> {
  const server = await startPostgres({ settings: { fsync: 'off' } })
  try {
    const client = new pg.Client({ connectionString: server.url })
    await client.connect()
    await client.query(TABLE_SQL)
    await installChangeLog(client, { table: 'bench' })
    await client.end()
    const run = (contestant: string, where: string) => () =>
      contest<WarmStart>('warm-start', [contestant, String(POSTGRES_ROWS), where], [])
    await run('save', path)()
    const { cache = [], postgres = [] } = await inTurn(ROUNDS, {
      cache: run('cache', path),
      postgres: run('postgres', server.url),
    })
    return { smallCache: cache, postgres }
  } finally {
    await server.stop()
  }
}

function figures(results: Readonly<Record<string, readonly WarmStart[]>>, fileMb: number): Figure[] {
  const middle = (name: string, figure: keyof WarmStart): number =>
    Math.round(median((results[name] ?? []).map((result) => result[figure])))
  return [
    atMost(READY_MS, {
      name: 'warm start to the first reads',
      value: middle('cache', 'readyMs'),
      unit: 'ms',
      peers: {
        'list from memory ms': middle('list', 'readyMs'),
        'all decoded ms': middle('cache', 'filledMs'),
        'file MB': fileMb,
      },
    }),
    atMost(LONGEST_START_MS, {
      name: 'longest block of a warm start',
      value: middle('cache', 'longestMs'),
      unit: 'ms',
      peers: { 'longest GC pause ms': middle('cache', 'pauseMs'), 'list from memory ms': middle('list', 'longestMs') },
    }),
    atMost(READY_MS, {
      name: `warm start of ${POSTGRES_ROWS} rows`,
      value: middle('smallCache', 'readyMs'),
      unit: 'ms',
      peers: { 'list from Postgres ms': middle('postgres', 'readyMs') },
    }),
    atMost(LONGEST_SAVE_MS, {
      name: 'longest block of a save',
      value: middle('save', 'saveLongestMs'),
      unit: 'ms',
      peers: { 'longest GC pause ms': middle('save', 'savePauseMs'), 'save ms': middle('save', 'saveMs') },
    }),
    atMost(SAVE_SHARE, {
      name: 'a save each minute',
      value: (100 * middle('save', 'saveCpuMs')) / SAVE_EVERY_MS,
      unit: '% of a core',
      peers: { 'CPU ms of a save': middle('save', 'saveCpuMs') },
    }),
  ]
}

import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { expect, test } from 'vitest'
import { installChangeLog } from '../../adapters/postgres/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres } from '../servers/index.js'
import { postgresNames } from '../servers/lookups.js'
import { rowsOf } from './contract-checker.js'
import { OracleReader } from './oracle-reader.js'
import { composite, partitioned, restrictedRole, type Subject } from './subjects.js'
import { Writers } from './writers.js'

const SECONDS = Number(process.env['LISTWATCH_ORACLE_SECONDS'] ?? 60)
const SEED = Number(process.env['LISTWATCH_ORACLE_SEED'] ?? randomInt(1_000_000))
const COMPARISONS = 2_000
/** How much longer the writers run if a busy machine has not done everything that a run needs. */
const OVERTIME_SECONDS = 25
const CONNECTIONS = 8
const SERVER = { fsync: 'off', autovacuum_naptime: '2s', max_prepared_transactions: '50', deadlock_timeout: '100ms' }

describePostgres('a mirror of a table that many write to', ({ binDir, env, name }) => {
  test(
    '[I1] is the table in the snapshot that its version names, after every batch and every list',
    async () => {
      // Of this try: a second one begins with no table.
      await using server = await startPostgres({ binDir, env, settings: SERVER })
      const seconds = SECONDS / postgresNames().length
      const comparisonsWanted = COMPARISONS / postgresNames().length
      const failures: string[] = []
      const worlds = [composite, partitioned].map((subject, at) => new World(server, subject, SEED + at, failures))
      try {
        const began = performance.now()
        for (const world of worlds) await world.begin()
        const isComplete = (): boolean =>
          comparisonsOf(worlds) >= comparisonsWanted && worlds.every(({ owed }) => owed.length === 0)
        const secondsGone = (): number => (performance.now() - began) / 1_000
        const isOver = (): boolean => secondsGone() >= seconds + (isComplete() ? 0 : OVERTIME_SECONDS)
        while (failures.length === 0 && !isOver()) await sleep(20)
        if (failures.length > 0) failures.unshift(`after ${Math.round(performance.now() - began)} ms`)
        else for (const world of worlds) await world.settle()
      } finally {
        for (const world of worlds) await world.end()
      }
      const comparisons = comparisonsOf(worlds)
      const report = worlds.map((world) => world.summary).join('\n')
      const replay = `LISTWATCH_ORACLE_SEED=${SEED} LISTWATCH_ORACLE_SECONDS=${SECONDS} npx vitest run --project faults postgres-faults`
      console.log(`oracle on ${name}: ${comparisons} comparisons; again: ${replay}\n${report}`)
      expect(failures.slice(0, 10).join('\n'), `what was wrong; again: ${replay}`).toBe('')
      expect(comparisons).toBeGreaterThanOrEqual(comparisonsWanted)
      // A run in which nothing happened has shown nothing.
      expect(worlds.flatMap(({ owed }) => owed)).toEqual([])
    },
    SECONDS * 1_000 + 120_000,
  )
})

function comparisonsOf(worlds: readonly World[]): number {
  return worlds.reduce((sum, world) => sum + world.comparisons, 0)
}

/** One table, those who write to it, and four mirrors of it: a fast one, one with a condition, a slow one, and one to whose role row security applies at times. */
class World {
  readonly #config: ClientConfig
  readonly #subject: Subject
  readonly #writers: Writers
  readonly #readers: readonly OracleReader[]

  constructor(server: PostgresServer, subject: Subject, seed: number, failures: string[]) {
    const config = { connectionString: server.url }
    this.#config = config
    this.#subject = subject
    this.#writers = new Writers(config, subject, seed)
    const random = new SeededRandom(seed)
    const common = { config, table: subject.table, keyColumns: subject.keyColumns }
    const fail = (what: string): void => void failures.push(what)
    const restricted = { config: { connectionString: urlOf(server, subject) }, isPlannedAnew: true }
    this.#readers = [
      new OracleReader({ ...common, name: 'fast', fail }),
      new OracleReader({ ...common, name: 'medium', fail, where: 'v % 3 <> 0', lagMs: () => random.below(100) }),
      new OracleReader({
        ...common,
        name: 'slow',
        fail,
        lagMs: () => (this.#isHurried(random) ? random.below(300) : 1_000 + random.below(3_000)),
      }),
      new OracleReader({ ...common, ...restricted, name: 'restricted', fail }),
    ]
    this.#writers.onMended = () => {
      for (const { informer } of this.#readers) informer.relist().catch(() => {}) // Stopped, or reported as an error.
    }
  }

  get comparisons(): number {
    return this.#readers.reduce((sum, { comparisons }) => sum + comparisons, 0)
  }

  /** What has not happened yet, and belongs to a run. */
  get owed(): string[] {
    const isTrimmed = this.#readers.some(({ expired }) => expired.has('trimmed'))
    const owed = isTrimmed ? this.#writers.owed : [...this.#writers.owed, 'a reader past the retention']
    return owed.map((what) => `${what}, of ${this.#subject.table}`)
  }

  get summary(): string {
    const lines = [
      `writers of ${this.#subject.table}: ${this.#writers.summary}`,
      ...this.#readers.map((r) => r.summary),
    ]
    return lines.map((line) => `  ${line}`).join('\n')
  }

  async begin(): Promise<void> {
    await ask(this.#config, async (client) => {
      await client.query(this.#subject.create)
      await installChangeLog(client, { table: this.#subject.table, ...this.#subject.install })
    })
    for (const { informer } of this.#readers) informer.start()
    for (const { informer } of this.#readers) await informer.synced({ timeoutMs: 120_000 })
    this.#writers.start(CONNECTIONS)
  }

  /** Writes stop, and what is read then is compared once more. */
  async settle(): Promise<void> {
    await this.#writers.stop()
    for (const reader of this.#readers) await reader.settle()
    for (const reader of this.#readers) {
      await ask(reader.config, async (client) => {
        reader.compareWith(await rowsOf(client, this.#subject.table, reader.where), 'rest')
      })
    }
  }

  async end(): Promise<void> {
    await this.#writers.stop()
    for (const reader of this.#readers) await reader.stop()
  }

  /** Whether the slow reader is in time now. It never is before it was past the retention once. */
  #isHurried(random: SeededRandom): boolean {
    const isDrawn = random.chance(0.8)
    return isDrawn && this.#readers.some(({ expired }) => expired.has('trimmed'))
  }
}

/** Of the role to which row security applies at times. */
function urlOf(server: PostgresServer, { table }: Subject): string {
  const url = new URL(server.url)
  url.username = restrictedRole(table)
  return url.href
}

async function ask(config: ClientConfig, work: (client: Client) => Promise<void>): Promise<void> {
  const client = new Client(config)
  await client.connect()
  await using _ = { [Symbol.asyncDispose]: () => client.end() }
  await work(client)
}

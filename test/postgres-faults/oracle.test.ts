import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { installChangeLog } from '../../adapters/postgres/index.js'
import { type PostgresServer, startPostgres } from '../../src/cli/postgres-server.js'
import { SeededRandom } from '../../src/testing/seeded-random.js'
import { describePostgres } from '../servers/index.js'
import { postgresNames } from '../servers/lookups.js'
import { OracleReader } from './oracle-reader.js'
import { composite, partitioned, type Subject } from './subjects.js'
import { rowsOf } from './witness.js'
import { Writers } from './writers.js'

/** How long is written, over all servers. */
const SECONDS = Number(process.env['LISTWATCH_ORACLE_SECONDS'] ?? 80)
const SEED = Number(process.env['LISTWATCH_ORACLE_SEED'] ?? randomInt(1_000_000))
const COMPARISONS = 2_000
const CONNECTIONS = 8

describePostgres('a mirror of a table that many write to', ({ binDir, env, name }) => {
  let server: PostgresServer
  beforeAll(async () => {
    const settings = {
      fsync: 'off',
      autovacuum_naptime: '2s',
      max_prepared_transactions: '50',
      deadlock_timeout: '100ms',
    }
    server = await startPostgres({ binDir, env, settings })
  })
  afterAll(() => server.stop('immediate'))

  test(
    'is the table in the snapshot that its version names, after every batch and every list',
    async () => {
      const seconds = SECONDS / postgresNames().length
      const failures: string[] = []
      const worlds = [composite, partitioned].map((subject, at) => new World(server, subject, SEED + at, failures))
      try {
        const began = performance.now()
        for (const world of worlds) await world.begin()
        while (failures.length === 0 && performance.now() - began < seconds * 1_000) await sleep(20)
        if (failures.length > 0) failures.unshift(`after ${Math.round(performance.now() - began)} ms`)
        else for (const world of worlds) await world.settle()
      } finally {
        for (const world of worlds) await world.end()
      }
      const comparisons = worlds.reduce((sum, world) => sum + world.comparisons, 0)
      const report = worlds.map((world) => world.summary).join('\n')
      console.log(`oracle on ${name}, seed ${SEED}: ${comparisons} comparisons\n${report}`)
      expect(failures.slice(0, 10).join('\n'), `what was wrong, with LISTWATCH_ORACLE_SEED=${SEED}`).toBe('')
      expect(comparisons).toBeGreaterThanOrEqual(COMPARISONS / postgresNames().length)
      for (const world of worlds) world.assertEventful()
    },
    SECONDS * 1_000 + 120_000,
  )
})

/** One table, those who write to it, and three who mirror it: the fast one, one with a condition, and a slow one. */
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
    this.#readers = [
      new OracleReader({ ...common, name: 'fast', fail }),
      new OracleReader({ ...common, name: 'medium', fail, where: 'v % 3 <> 0', lagMs: () => random.below(100) }),
      new OracleReader({
        ...common,
        name: 'slow',
        fail,
        lagMs: () => (random.chance(0.2) ? 1_000 + random.below(3_000) : random.below(300)),
      }),
    ]
  }

  get comparisons(): number {
    return this.#readers.reduce((sum, { comparisons }) => sum + comparisons, 0)
  }

  get summary(): string {
    const lines = [
      `writers of ${this.#subject.table}: ${this.#writers.summary}`,
      ...this.#readers.map((r) => r.summary),
    ]
    return lines.map((line) => `  ${line}`).join('\n')
  }

  async begin(): Promise<void> {
    await this.#ask(async (client) => {
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
    await this.#ask(async (client) => {
      for (const reader of this.#readers)
        reader.compareWith(await rowsOf(client, this.#subject.table, reader.where), 'rest')
    })
  }

  async end(): Promise<void> {
    await this.#writers.stop()
    for (const reader of this.#readers) await reader.stop()
  }

  /** A run in which nothing happened has shown nothing. */
  assertEventful(): void {
    const { counts } = this.#writers
    const kinds = ['committed', 'rolled back', 'savepoint', 'long', 'reshaped', 'truncated', 'trimmed rows']
    if (this.#subject.canPrepare) kinds.push('commit prepared', 'rollback prepared')
    for (const kind of kinds) expect(counts.get(kind), `${kind} on ${this.#subject.table}`).toBeGreaterThan(0)
    const trimmed = this.#readers.map(({ expired }) => expired.get('trimmed') ?? 0)
    expect(Math.max(...trimmed), 'how often a reader was past the retention').toBeGreaterThan(0)
  }

  async #ask(work: (client: Client) => Promise<void>): Promise<void> {
    const client = new Client(this.#config)
    await client.connect()
    try {
      await work(client)
    } finally {
      await client.end()
    }
  }
}

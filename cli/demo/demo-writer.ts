import type pg from 'pg'
import type { Clock } from '../../src/contract/clock.js'
import type { Random } from '../../src/contract/random.js'

/** A row of the demo's table, as pg reads it. */
export interface Order {
  readonly id: string
  readonly tenant: string
  readonly status: string
  readonly cents: number
  readonly updated_at: Date
}

export const TENANTS: readonly string[] = ['acme', 'birch', 'cedar', 'dunes', 'ember', 'fjord', 'grove', 'haven']
const STATUSES = ['open', 'paid', 'packed', 'sent']
/** The table stays near this many rows. */
const ROWS = 2_000
/** The mean pause between two transactions, in milliseconds. */
const PAUSE_MS = 6

const TABLE_SQL = `CREATE TABLE orders (
  id         bigint      PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  tenant     text        NOT NULL,
  status     text        NOT NULL,
  cents      integer     NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
)`

/** Inserts, updates and deletes orders, several in a transaction. Some transactions are rolled back. */
export class DemoWriter {
  readonly #client: pg.Client
  readonly #clock: Clock
  readonly #random: Random
  readonly #stop = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #transactions = 0

  constructor(client: pg.Client, clock: Clock, random: Random) {
    this.#client = client
    this.#clock = clock
    this.#random = random
  }

  /** The number of committed transactions. */
  get transactions(): number {
    return this.#transactions
  }

  async createTable(): Promise<void> {
    await this.#client.query(TABLE_SQL)
    await this.#client.query(
      'INSERT INTO orders (tenant, status, cents) SELECT ($1::text[])[1 + g % $2], $3, g FROM generate_series(1, $4::int) g',
      [TENANTS, TENANTS.length, STATUSES[0], ROWS],
    )
  }

  start(): void {
    this.#running = this.#write()
    this.#running.catch(() => {}) // `stop` rejects with it.
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#running
  }

  async #write(): Promise<void> {
    const { signal } = this.#stop
    while (!signal.aborted) {
      await this.#client.query('BEGIN')
      for (let left = 1 + this.#below(4); left > 0; left--) await this.#change()
      const isKept = this.#random.next() > 0.05
      await this.#client.query(isKept ? 'COMMIT' : 'ROLLBACK')
      if (isKept) this.#transactions++
      await this.#clock.sleep(this.#below(2 * PAUSE_MS), signal).catch(() => {})
    }
  }

  async #change(): Promise<void> {
    const dice = this.#random.next()
    const tenant = this.#pick(TENANTS)
    const any = 'id = (SELECT id FROM orders OFFSET floor(random() * $1) LIMIT 1)'
    if (dice < 0.25) {
      const values = [tenant, STATUSES[0], this.#below(100_000)]
      await this.#client.query('INSERT INTO orders (tenant, status, cents) VALUES ($1, $2, $3)', values)
    } else if (dice < 0.5) await this.#client.query(`DELETE FROM orders WHERE ${any}`, [ROWS])
    else {
      const sql = `UPDATE orders SET status = $2, cents = cents + 1, updated_at = clock_timestamp() WHERE ${any}`
      await this.#client.query(sql, [ROWS, this.#pick(STATUSES)])
    }
  }

  #below(below: number): number {
    return Math.floor(this.#random.next() * below)
  }

  #pick(from: readonly string[]): string {
    return from[this.#below(from.length)] ?? ''
  }
}

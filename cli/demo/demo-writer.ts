import { systemClock } from '../../src/contract/clock.js'
import { systemRandom } from '../../src/contract/random.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Row } from '../sources/source-types.js'

/** A row of the demo's table. In SQLite the id and the time are numbers. */
export interface Order {
  readonly id: string | number
  readonly tenant: string
  readonly status: string
  readonly cents: number
  readonly updated_at: Date | number
}

/** The database of the demo, with a table `orders`, a writer of it, and a fault. */
export interface DemoEngine {
  readonly source: ListerWatcher<Order>
  /** What `kill` ends. It is there again after a moment. */
  readonly victim: 'connection' | 'writer'
  readonly transactions: number
  open(): Promise<void>
  startWriter(): void
  stopWriter(): Promise<void>
  /** Ends the connection of the mirror, or the process of the writer. A new writer is there when it resolves. */
  kill(): Promise<void>
  rows(): Promise<readonly Row[]>
  close(): Promise<void>
}

/** A connection to the database, in which the parameters are `$1`, `$2` and so on. */
export interface WriterConnection<Time> {
  run(sql: string, values?: (string | number | Time)[]): Promise<unknown>
  timeOf(ms: number): Time
}

export const TENANTS: readonly string[] = ['acme', 'birch', 'cedar', 'dunes', 'ember', 'fjord', 'grove', 'haven']
const STATUSES = ['open', 'paid', 'packed', 'sent']
/** The table stays near this many rows. */
const ROWS = 2_000
/** The mean pause between two transactions, in milliseconds. */
const PAUSE_MS = 6

/** Writes orders, several in a transaction. Some are rolled back, and `onCommit` is called after each of the others. */
export class DemoWriter<Time> {
  readonly #connection: WriterConnection<Time>
  readonly #stop = new AbortController()
  #running: Promise<void> = Promise.resolve()
  readonly #onCommit: () => void

  constructor(connection: WriterConnection<Time>, onCommit: () => void) {
    this.#onCommit = onCommit
    this.#connection = connection
  }

  async fillTable(): Promise<void> {
    const tenants = Array.from({ length: ROWS }, (_, at) => TENANTS[at % TENANTS.length] ?? '')
    await this.#insert(tenants)
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
      await this.#connection.run('BEGIN')
      for (let left = 1 + this.#below(4); left > 0; left--) await this.#change()
      const isKept = systemRandom.next() > 0.05
      await this.#connection.run(isKept ? 'COMMIT' : 'ROLLBACK')
      if (isKept) this.#onCommit()
      await systemClock.sleep(this.#below(2 * PAUSE_MS), signal).catch(() => {})
    }
  }

  async #change(): Promise<void> {
    const dice = systemRandom.next()
    const any = 'id = (SELECT id FROM orders LIMIT 1 OFFSET $1)'
    const at = this.#below(ROWS)
    if (dice < 0.25) await this.#insert([this.#pick(TENANTS)])
    else if (dice < 0.5) await this.#connection.run(`DELETE FROM orders WHERE ${any}`, [at])
    else {
      const sql = `UPDATE orders SET status = $2, cents = cents + 1, updated_at = $3 WHERE ${any}`
      await this.#connection.run(sql, [at, this.#pick(STATUSES), this.#now])
    }
  }

  /** Inserts an order of each of these tenants, in one statement: the server may be far away. */
  async #insert(tenants: readonly string[]): Promise<void> {
    const values = tenants.flatMap((tenant) => [tenant, 'open', this.#below(100_000), this.#now])
    const rows = tenants.map((_, row) => `(${[1, 2, 3, 4].map((column) => `$${4 * row + column}`).join()})`)
    await this.#connection.run(`INSERT INTO orders (tenant, status, cents, updated_at) VALUES ${rows.join()}`, values)
  }

  get #now(): Time {
    return this.#connection.timeOf(systemClock.now())
  }

  #below(below: number): number {
    return Math.floor(systemRandom.next() * below)
  }

  #pick(from: readonly string[]): string {
    return from[this.#below(from.length)] ?? ''
  }
}

import { channel } from 'node:diagnostics_channel'
import type { ClientConfig } from 'pg'
import { postgresSource } from '../../adapters/postgres/index.js'
import { parseVersion } from '../../adapters/postgres/postgres-version.js'
import { createInformer, type Equal, type Informer } from '../../src/index.js'
import { fastClock } from '../support/clocks.js'
import { HandlerHistory } from '../support/handler-history.js'
import { type CheckedRow, ContractChecker, type ContractCheckerOptions } from './contract-checker.js'

export type Row = Readonly<Record<string, unknown>>

export interface OracleReaderOptions extends ContractCheckerOptions {
  readonly name: string
  readonly keyColumns: readonly string[]
  /** Called at the first thing that is wrong, and at each one after it. */
  readonly fail: (what: string) => void
}

/** Between two tries a reader waits in time that runs this fast: it is to look, not to wait. */
const SPEED = 4
const REMAINDERS = 7

/**
 * A mirror, and the judge of it: at each commit the store, and one index, must be the table as it was in the snapshot
 * that the version names.
 */
export class OracleReader {
  readonly name: string
  comparisons = 0
  readonly expired = new Map<string, number>()
  readonly #options: OracleReaderOptions
  readonly #witness: ContractChecker
  readonly informer: Informer<Row, { readonly remainder: Equal<Row, number> }>
  readonly #keyOf: (row: Row) => string
  readonly #every = new HandlerHistory<Row>()
  readonly #latest = new HandlerHistory<Row>()
  readonly #scoped = new HandlerHistory<Row>()
  readonly #slow = new HandlerHistory<Row>()
  readonly #subscriptions
  readonly #judge = (message: unknown): void => {
    const { version } = Object(message)
    // Of all mirrors of this process, those that are there now.
    if (version === this.informer.version) this.#compare(version)
  }

  constructor(options: OracleReaderOptions) {
    this.name = options.name
    this.#options = options
    this.#witness = new ContractChecker(options)
    const source = postgresSource<Row>({
      connect: this.#witness.client,
      table: options.table,
      timeoutMs: 10_000 * SPEED,
      trimEveryMs: false,
      ...(options.where === undefined ? {} : { sql: options.where }),
      rls: 'row-local',
    })
    this.#keyOf = (row) => source.key(...options.keyColumns.map((column) => String(row[column])))
    this.informer = createInformer({
      source,
      clock: fastClock(SPEED),
      indexes: (ix) => ({ remainder: ix.equal((row) => remainderOf(row)) }),
    })
    this.informer.on('error', ({ code, message }) => {
      const why = /expired \(([^)]+)\)/.exec(message)?.[1] ?? code
      this.expired.set(why, (this.expired.get(why) ?? 0) + 1)
      if (['PROTOCOL', 'DECODE', 'STALE_LIST', 'UNAUTHORIZED'].includes(why)) options.fail(`${this.name}: ${message}`)
    })
    this.#subscriptions = [
      { told: this.#every, wants: () => true, of: this.informer.subscribe(this.#every.handlers) },
      {
        told: this.#latest,
        wants: () => true,
        of: this.informer.subscribe(this.#latest.handlers, { delivery: 'latest' }),
      },
      {
        told: this.#scoped,
        wants: (row: Row) => remainderOf(row) === 1,
        of: this.informer.subscribe(this.#scoped.handlers, { where: { remainder: 1 } }),
      },
      {
        told: this.#slow,
        wants: () => true,
        of: this.informer.subscribe(this.#slow.slowHandlers(2), { capacity: 50, onOverflow: 'coalesce' }),
      },
    ]
    channel('listwatch:batch').subscribe(this.#judge)
  }

  get config(): ClientConfig {
    return this.#options.config
  }

  get where(): string | undefined {
    return this.#options.where
  }

  async settle(): Promise<void> {
    await this.informer.fresh({ timeoutMs: 60_000 * SPEED })
    const { version = '' } = this.informer
    for (const { of } of this.#subscriptions) await of.waitFor(version, { timeoutMs: 30_000 * SPEED })
    const store = new Map(this.informer.entries())
    for (const [at, { told, wants }] of this.#subscriptions.entries()) {
      const wanted = new Map([...store].filter(([, object]) => wants(object)))
      const keys = new Set([...wanted.keys(), ...told.objects.keys()])
      const wrong = [...keys].filter((key) => !Object.is(wanted.get(key), told.objects.get(key)))
      if (wrong.length > 0) this.#fail(`subscription ${at} does not know ${wrong.slice(0, 5).join(' ')}`)
      for (const flaw of told.violations) this.#fail(`subscription ${at}: ${flaw}`)
    }
  }

  async stop(): Promise<void> {
    channel('listwatch:batch').unsubscribe(this.#judge)
    await this.informer.stop()
  }

  /** `fast: 812 comparisons, 9 relists (trimmed 4, shape 5)` */
  get summary(): string {
    const reasons = [...this.expired].map(([why, times]) => `${why} ${times}`).join(', ')
    return `${this.name}: ${this.comparisons} comparisons, ${this.informer.status.relists} relists (${reasons}), ${this.#every.count} changes delivered`
  }

  #compare(version: string): void {
    const { snapshot, access } = parseVersion(version)
    const table = this.#witness.at(snapshot)
    if (table === undefined) this.#fail(`it says it is at ${snapshot}, which no statement of its source has seen`)
    // With other roles than the version's, the next poll makes it expire.
    else if (table.access === access) this.compareWith(table.rows, snapshot)
  }

  compareWith(rows: readonly CheckedRow[], where: string): void {
    this.comparisons++
    const { informer } = this
    const groups = new Map<number, Set<string>>()
    const wrong: string[] = []
    const wanted = new Set<string>()
    for (const { row, text } of rows) {
      const key = this.#keyOf(row)
      wanted.add(key)
      const object = informer.get(key)
      const has = object === undefined ? 'nothing' : JSON.stringify(object)
      if (has !== text) wrong.push(`"${key}": the table has ${short(text)}, the store ${short(has)}`)
      const group = groups.get(remainderOf(row)) ?? new Set()
      groups.set(remainderOf(row), group.add(key))
    }
    for (const [key, object] of informer.entries()) {
      if (!wanted.has(key)) wrong.push(`"${key}": the table has nothing, the store ${short(JSON.stringify(object))}`)
    }
    if (wrong.length > 0) this.#fail(`at ${where} ${wrong.length} keys differ:\n  ${wrong.slice(0, 8).join('\n  ')}`)
    for (let remainder = 0; remainder < REMAINDERS; remainder++) {
      const indexed = Array.from(informer.by.remainder.entries(remainder), ([key]) => key).toSorted()
      const recomputed = [...(groups.get(remainder) ?? [])].toSorted()
      if (indexed.join('\n') !== recomputed.join('\n'))
        this.#fail(`at ${where} the index of ${remainder} has ${indexed.length} keys instead of ${recomputed.length}`)
    }
  }

  #fail(what: string): void {
    this.#options.fail(`${this.name} of ${this.#options.table}: ${what}`)
  }
}

function remainderOf(row: Row): number {
  return Number(row['v']) % REMAINDERS
}

function short(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}

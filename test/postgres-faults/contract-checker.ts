import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, type QueryArrayConfig, type QueryArrayResult, types } from 'pg'
import { accessSql } from '../../adapters/postgres/table/table-catalog.js'

/** A row as Postgres itself writes it down, parsed; and as text, to be compared. */
export type CheckedRow = { readonly row: Readonly<Record<string, unknown>>; readonly text: string }

/** `access`: what row security granted to the reader then. No snapshot has that: each statement sees the latest roles. */
export type CheckedTable = { readonly rows: readonly CheckedRow[]; readonly access: string }

export interface ContractCheckerOptions {
  readonly config: ClientConfig
  readonly table: string
  readonly where?: string | undefined
  /** How long a look is on its way to the server, in milliseconds: what makes a reader slow. */
  readonly lagMs?: () => number
  /** Without prepared statements: their plans keep the policies of the roles that the reader had before. */
  readonly isPlannedAnew?: boolean
}

/** The number of kept snapshots: those of the last polls. The mirror is about to show one of them. */
const MAX_SNAPSHOTS = 64

/**
 * Stands between a source and its client, and makes each statement that brings a delta also bring the whole table: one
 * statement, one snapshot. The source does not see it. The tables are kept by snapshot, until the mirror reaches it.
 */
export class ContractChecker {
  readonly #options: ContractCheckerOptions
  readonly #tables = new Map<string, CheckedTable>()

  constructor(options: ContractCheckerOptions) {
    this.#options = options
  }

  readonly client = (): Client => {
    const client = new Client({ ...this.#options.config, types: { getTypeParser: parserOf } })
    let isListing = false
    const query = async (sent: unknown): Promise<unknown> => {
      if (isDelta(sent)) return await this.#look(client, sent)
      if (isListing && textOf(sent) === 'COMMIT') await this.#read(client)
      return await Reflect.apply(client.query, client, [sent])
    }
    return new Proxy(client, {
      get: (target, name) => {
        if (name === 'query') {
          // A query without a text is a COPY with its own reader, and is not awaited.
          return (sent: unknown) => {
            if (textOf(sent) !== undefined) return query(sent)
            isListing = true
            return Reflect.apply(client.query, client, [sent])
          }
        }
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  /** Returns the table in that snapshot; undefined if no statement of the source had it. */
  at(snapshot: string): CheckedTable | undefined {
    return this.#tables.get(snapshot)
  }

  /** The delta's own rows, and once, in its header's row, a column more. */
  async #look(client: Client, delta: QueryArrayConfig): Promise<QueryArrayResult> {
    const lagMs = this.#options.lagMs?.() ?? 0
    if (lagMs > 0) await sleep(lagMs)
    const text = `SELECT x.*, CASE WHEN x.kind = 'H' THEN (${this.#wholeTable}) END FROM (${delta.text}) x(kind)`
    const result = await client.query({ ...delta, text, ...(this.#options.isPlannedAnew && { name: '' }) })
    const rows = result.rows.map((row: unknown[]) => {
      this.#remember(row.at(-1))
      return row.slice(0, -1)
    })
    return { ...result, rows }
  }

  /** In the transaction of a list, before it ends. */
  async #read(client: Client): Promise<void> {
    const { rows } = await client.query({ text: `SELECT (${this.#wholeTable})`, rowMode: 'array' })
    this.#remember(rows[0]?.[0])
  }

  get #wholeTable(): string {
    return wholeTable(this.#options.table, this.#options.where)
  }

  #remember(said: unknown): void {
    if (typeof said !== 'string') return // Only the header's row has the table.
    const { snapshot, ...table } = parsed(said)
    this.#tables.set(snapshot, table)
    for (const oldest of this.#tables.keys()) {
      if (this.#tables.size <= MAX_SNAPSHOTS) break
      this.#tables.delete(oldest)
    }
  }
}

export async function rowsOf(client: Client, table: string, where?: string): Promise<readonly CheckedRow[]> {
  const { rows } = await client.query({ text: wholeTable(table, where), rowMode: 'array' })
  return parsed(rows[0]?.[0]).rows
}

/** `t` as a whole: whatever columns it has by now. */
function wholeTable(table: string, where: string | undefined): string {
  const condition = where === undefined ? '' : ` WHERE ${where}`
  return `SELECT json_build_object('snapshot', pg_current_snapshot()::text, 'access', ${accessSql(`'${table}'::regclass`)}, 'rows', coalesce(json_agg(row_to_json(t)), '[]'))::text FROM ${table} t${condition}`
}

function parsed(said: string): CheckedTable & { readonly snapshot: string } {
  const { rows, ...others }: { snapshot: string; access: string; rows: Record<string, unknown>[] } = JSON.parse(said)
  return { ...others, rows: rows.map((row) => ({ row, text: JSON.stringify(row) })) }
}

/** bigint as the number it is in JSON: the keys here are small enough. */
function parserOf(typeId: number, format?: string): (text: string) => unknown {
  return typeId === 20 ? Number : types.getTypeParser(typeId, format === 'binary' ? 'binary' : 'text')
}

function textOf(sent: unknown): string | undefined {
  const { text, submit } = Object(sent)
  return typeof text === 'string' && submit === undefined ? text : undefined
}

/** A statement that reads a log and answers in rows that are arrays. */
function isDelta(sent: unknown): sent is QueryArrayConfig {
  return Object(sent).rowMode === 'array' && /FROM listwatch\./.test(textOf(sent) ?? '')
}

import type { TouchedRows } from './binlog-types.js'

/** The rows that a transaction has touched, by the ids of tables. */
export class Touched {
  readonly #tables = new Map<string, { readonly keys: Set<string> } | { readonly list: string }>()

  get tables(): ReadonlyMap<string, TouchedRows> {
    return this.#tables
  }

  /** The set for further keys of a table; undefined if the table has to be listed anyway. */
  keysOf(id: string): Set<string> | undefined {
    let rows = this.#tables.get(id)
    if (rows === undefined) {
      rows = { keys: new Set() }
      this.#tables.set(id, rows)
    }
    return 'keys' in rows ? rows.keys : undefined
  }

  /** Only the first reason counts. */
  list(id: string, reason: string): void {
    const rows = this.#tables.get(id)
    if (rows === undefined || 'keys' in rows) this.#tables.set(id, { list: reason })
  }

  addAll(other: Touched): void {
    for (const [id, rows] of other.#tables) {
      if ('list' in rows) this.list(id, rows.list)
      else for (const key of rows.keys) this.keysOf(id)?.add(key)
    }
  }
}

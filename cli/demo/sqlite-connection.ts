import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { WriterConnection } from './demo-writer.js'

/** The connection of a writer to a SQLite file, in which a time is a number. */
export function writerConnection(database: DatabaseSync): WriterConnection<number> {
  const statements = new Map<string, StatementSync>()
  return {
    async run(sql, values = []) {
      const statement = statements.get(sql) ?? database.prepare(sql.replace(/\$(?=\d)/g, '?'))
      statements.set(sql, statement)
      statement.run(...values)
    },
    timeOf: (ms) => ms,
  }
}

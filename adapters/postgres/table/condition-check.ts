import { SourceError } from '../../../src/contract/errors.js'
import { elementsOf } from '../../common/properties.js'
import { calledFunctionsSql, fingerprintSql } from '../called-functions.js'
import { codeOf, postgresError } from '../connection/postgres-errors.js'
import type { Session } from '../connection/session.js'
import { quoteIdentifier } from '../schema/quoting.js'
import type { Table } from './table-catalog.js'

export interface CheckedCondition {
  readonly functions: readonly string[]
  /** The definition of the table and of these functions at the check. */
  readonly definition: string
}

/**
 * Throws for a condition that depends on more than its row, for example the clock: a row could enter or leave it
 * without a write. Postgres checks the condition when it creates a partial index on an empty copy of the table.
 */
export async function checkCondition(
  session: Session,
  { relid, name, keyColumns }: Table,
  where: string,
): Promise<CheckedCondition> {
  let predicate: string
  let checked: CheckedCondition
  try {
    await session.begin('ISOLATION LEVEL READ COMMITTED READ WRITE')
    const columns = await session.query(READABLE_SQL, [relid])
    const readable = columns.map((row) => quoteIdentifier(String(row['name']))).join(', ')
    await session.query(
      `CREATE TEMPORARY TABLE pg_temp.listwatch_where ON COMMIT DROP AS SELECT ${readable} FROM ${name} WITH NO DATA; CREATE INDEX ON pg_temp.listwatch_where (${keyColumns[0]}) WHERE (${where}\n) AND coalesce(${where}\n, true)`,
    )
    const [index] = await session.query(PREDICATE_SQL)
    predicate = String(index?.['predicate'])
    const functions = elementsOf(JSON.parse(index?.['functions'] ?? '[]')).map(String)
    // The transaction holds a lock on the table, which has not changed since the check.
    checked = { functions, definition: await definitionOf(session, { relid, functions }) }
    await session.query('ROLLBACK')
  } catch (error) {
    await session.query('ROLLBACK').catch(() => {}) // The first error says more.
    const { code, message } = postgresError(error)
    const sqlState = codeOf(Object(error).cause) ?? ''
    // The condition causes these: wrong syntax, unknown names, invalid values, expressions that an index cannot have.
    if (/^(42|22|0A)/.test(sqlState)) {
      const reason = DEPENDS_ON_MORE.has(sqlState) ? MORE_THAN_ROW : 'is refused by the server'
      const hint = sqlState === UNDEFINED_COLUMN ? `; a text needs quotes: status = 'new'` : ''
      const flaw = `sql: "${where}" ${reason}: ${message}${hint}`
      throw new SourceError(flaw, { code: 'PROTOCOL', cause: error })
    }
    throw new SourceError(`the condition could not be checked: ${message}`, { code, cause: error })
  }
  // The server replaces such a literal of a date or a time by the time at which it reads the condition.
  if (timeWordsIn(predicate) < 2 * timeWordsIn(where)) {
    const flaw = `sql: "${where}" ${MORE_THAN_ROW}: 'now', 'today', 'tomorrow' and 'yesterday' depend on the clock`
    throw new SourceError(flaw, { code: 'PROTOCOL' })
  }
  return checked
}

/** Changes if the check may have another result: with the table, the functions, and the search path. */
export async function definitionOf(session: Session, table: Pick<Table, 'relid' | 'functions'>): Promise<string> {
  const sql = `SELECT ${fingerprintSql(table)}::pg_catalog.text AS fingerprint, pg_catalog.current_schemas(false)::pg_catalog.text AS path`
  const [row] = await session.query(sql)
  return [table.relid, row?.['fingerprint'], row?.['path']].join(':')
}

const MORE_THAN_ROW = 'must depend on nothing but the row'

/** The condition as the server has stored it, which contains it twice, and the functions that it calls. */
const PREDICATE_SQL = `SELECT pg_catalog.pg_get_expr(i.indpred, i.indrelid) AS predicate, (SELECT pg_catalog.json_agg(f.id::pg_catalog.text ORDER BY f.id) FROM (
    ${calledFunctionsSql(`SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, i.indexrelid`)}) f) AS functions
  FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) 'pg_temp.listwatch_where'::pg_catalog.regclass`

/** The number of words in the literals of a condition that mean a time, if the literal is a date or a time. */
function timeWordsIn(condition: string): number {
  const literals = condition.replace(CONTINUED, '').match(LITERAL) ?? []
  return literals.flatMap((literal) => unescaped(literal).match(/\b(?:now|today|tomorrow|yesterday)\b/gi) ?? []).length
}

/** The end of a part of a literal, and the beginning of the next part on a later line. */
const CONTINUED = /'[^\S\n]*(?:--.*)?\n(?:\s|--.*\n)*'/g
const LITERAL = /\bE'(?:[^'\\]|''|\\.)*'|\bU&'(?:[^']|'')*'(?:\s*UESCAPE\s*'.')?|'(?:[^']|'')*'|\$(\w*)\$.*?\$\1\$/gis
const ESCAPE = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([bfnrt])|(.))/gs
const UNICODE_ESCAPE = /\\(?:([\da-fA-F]{4})|\+([\da-fA-F]{6}))/g

/** Replaces the escapes of a literal: E'n\x6fw', U&'n\006fw'. */
function unescaped(literal: string): string {
  if (/^U&/i.test(literal)) {
    const [, mark = '\\'] = /UESCAPE\s*'(.)'$/i.exec(literal) ?? []
    return literal.replaceAll(mark, '\\').replace(UNICODE_ESCAPE, (_, short = '', long = '') => character(short + long))
  }
  if (!/^E/i.test(literal)) return literal
  return literal.replace(ESCAPE, (_, byte = '', short = '', long = '', octal = '', control = '', other = '') => {
    if (octal !== '') return character(octal, 8)
    return control === '' ? other || character(byte + short + long) : ' '
  })
}

function character(code: string, radix = 16): string {
  return String.fromCodePoint(Number.parseInt(code, radix) % 0x110000)
}

/** Not immutable, a subquery, an aggregate, a window function: what a condition of an index cannot have. */
const DEPENDS_ON_MORE: ReadonlySet<string> = new Set(['42P17', '0A000', '42803', '42P20'])
const UNDEFINED_COLUMN = '42703'

const READABLE_SQL = `SELECT a.attname AS name FROM pg_catalog.pg_attribute a
   WHERE a.attrelid OPERATOR(pg_catalog.=) $1::pg_catalog.text::pg_catalog.oid AND a.attnum OPERATOR(pg_catalog.>) 0::pg_catalog.int2 AND NOT a.attisdropped AND pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')`

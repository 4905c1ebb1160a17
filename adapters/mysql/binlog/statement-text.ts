import type { LoggedTable } from './binlog-types.js'

export type StatementKind = 'begin' | 'end' | 'part' | 'statement'

/** `part`: neither ends a transaction nor changes rows that remain. */
export function statementKind(text: string): StatementKind {
  if (/^(BEGIN|XA\s+START\b.*)$/is.test(text)) return 'begin'
  if (/^(COMMIT|ROLLBACK)$/i.test(text)) return 'end'
  return /^(SAVEPOINT|RELEASE\s+SAVEPOINT|ROLLBACK\s+TO|XA\s+END)\b/i.test(text) ? 'part' : 'statement'
}

/** The second phase of an XA transaction, with the text of its id. */
export interface XaDecision {
  readonly isCommit: boolean
  readonly xid: string
}

export function xaDecisionOf(text: string): XaDecision | undefined {
  const [, verb, xid] = /^XA\s+(COMMIT|ROLLBACK)\s+(X'[\da-f]*',X'[\da-f]*',\d+)$/i.exec(text) ?? []
  return verb === undefined || xid === undefined
    ? undefined
    : { isCommit: /commit/i.test(verb), xid: xid.toLowerCase() }
}

/** The text of an XA transaction's id, as in the statements of the binary log. */
export function xidText(format: number, global: Buffer, branch: Buffer): string {
  return `x'${global.toString('hex')}',x'${branch.toString('hex')}',${format}`
}

const HARMLESS =
  /^(GRANT|REVOKE|ANALYZE\s+TABLES?|OPTIMIZE|CHECK|FLUSH|SET\s+(?:PASSWORD|DEFAULT)|INSTALL|UNINSTALL|DROP\s+TEMPORARY|DROP\s+\/\*!\d+\s*TEMPORARY)\b/i
/** A table that is there is not changed. If another one was there before, its removal has listed the table. */
const CREATE_TABLE = /^CREATE\s+TABLE\b/i
const DDL = /^(CREATE|ALTER|DROP|TRUNCATE|RENAME|REPAIR)\b/i
const OBJECT =
  /^(?:CREATE|ALTER|DROP|RENAME)\s+(?:(?:OR\s+REPLACE|TEMPORARY|UNIQUE|AGGREGATE|DEFINER\s*=\s*\S+|ALGORITHM\s*=\s*\w+|SQL\s+SECURITY\s+\w+)\s+)*(DATABASE|SCHEMA|INDEX|TRIGGER|VIEW|PROCEDURE|FUNCTION|EVENT|USER|ROLE|PACKAGE)\b/i
const WITHOUT_ROWS = /^(TRIGGER|VIEW|PROCEDURE|FUNCTION|EVENT|USER|ROLE|PACKAGE)$/i
const DATABASE = /^(DATABASE|SCHEMA)$/i

const HEAD_LENGTH = 65_536

/**
 * Returns why a table has to be listed after a statement that is logged as text. A statement of DDL affects the tables whose names
 * are in its text, and the tables that reference them. Any other statement may affect every table: it can call functions,
 * fire triggers, cascade or name a view.
 */
export function effectOf(text: string, defaultDatabase: string): (table: LoggedTable) => string | undefined {
  const code = withoutComments(text.slice(0, HEAD_LENGTH))
  const verb = /^[a-z]+/i.exec(code)?.[0].toUpperCase() ?? 'a statement'
  if (HARMLESS.test(code)) return () => undefined
  if (!DDL.test(code)) return () => `${verb}, logged as a statement`
  const object = OBJECT.exec(code)?.[1]?.toUpperCase() ?? 'TABLE'
  if (WITHOUT_ROWS.test(object)) return () => undefined
  const effect = `${verb} ${object}`
  if (object === 'TABLE' && /\bSELECT\b/i.test(code)) return () => effect
  const isAbout = ({ database, table }: TableName): boolean => {
    if (DATABASE.test(object)) return mentions(text, database)
    return mentions(text, table) && (database === defaultDatabase || mentions(text, database))
  }
  return (table) => {
    const parents = table.cascadesFrom === 'any' ? [] : (table.cascadesFrom ?? [])
    return (!CREATE_TABLE.test(code) && isAbout(table)) || parents.some(isAbout) ? effect : undefined
  }
}

type TableName = Pick<LoggedTable, 'database' | 'table'>

/** Without comments, except those that the servers execute, and without what surrounds the statement. */
function withoutComments(text: string): string {
  return text
    .replace(/\/\*(?!M?!)[\s\S]*?\*\//g, ' ')
    .replace(/(^|\n)\s*(#|--\s).*/g, '$1')
    .replace(/^(?:[\s(;]|\/\*M?!\d*)+/, '')
}

/** Whether a text has a name as a word, in any case. `text` has a character for each byte. */
function mentions(text: string, name: string): boolean {
  const bytes = Buffer.from(name).toString('latin1').toLowerCase()
  const all = text.toLowerCase()
  // The text may have another character set than the name.
  if (/[\x80-\xff]/.test(bytes)) return /[\x80-\xff]/.test(all)
  const quoted = bytes.replaceAll('`', '``')
  for (let at = all.indexOf(quoted); at !== -1; at = all.indexOf(quoted, at + 1)) {
    const end = at + quoted.length
    if (!(isWord(all, at - 1) && isWord(all, at)) && !(isWord(all, end - 1) && isWord(all, end))) return true
  }
  return false
}

function isWord(text: string, at: number): boolean {
  return /^[\w$\x80-\xff]$/.test(text.charAt(at))
}

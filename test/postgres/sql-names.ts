import { parse, parsePlPgSQL } from 'libpg-query'

/** A name or an operator that the server looks up on the search path. */
export interface Lookup {
  readonly kind: 'function' | 'type' | 'relation' | 'collation' | 'operator'
  readonly token: string
  /** The text around it. */
  readonly near: string
}

export interface LookupOptions {
  /** Whether operators may have no schema, because the search path has no schema of a user before pg_catalog. */
  readonly mayOmitOperators?: boolean
  /** Relations without a schema: the transition tables of a trigger. */
  readonly relations?: readonly string[]
}

type Node = Readonly<Record<string, unknown>>

/** Casts of such a literal look up the name in it. */
const NAME_TYPES: Readonly<Record<string, Lookup['kind']>> = {
  regclass: 'relation',
  regtype: 'type',
  regproc: 'function',
  regprocedure: 'function',
  regoper: 'operator',
  regoperator: 'operator',
  regcollation: 'collation',
}
/** Kinds of objects that statements such as DROP and COMMENT name by a list. */
const RELATIONS = /^OBJECT_(TABLE|SEQUENCE|VIEW|INDEX|MATVIEW|FOREIGN_TABLE)$/
/** Postgres 15 looks this type up. Later versions have a keyword. */
const NEW_KEYWORDS: ReadonlySet<unknown> = new Set(['json'])
/** Variables that PL/pgSQL itself declares. */
const OWN_VARIABLES: ReadonlySet<unknown> = new Set(['sqlstate', 'sqlerrm'])

/**
 * Returns what the server looks up on the search path when it runs the statements of one message, those of DO blocks
 * included.
 */
export async function lookupsOf(sql: string, options: LookupOptions = {}): Promise<readonly Lookup[]> {
  const walk = new Walk(sql, options)
  walk.visit(await parse(sql), new Set(options.relations), 0)
  const blocks = walk.blocks.map(({ text, mayOmitOperators }) =>
    lookupsOfFunction(`DO ${quoted(text)}`, { ...options, mayOmitOperators }),
  )
  return distinct([...walk.found, ...(await Promise.all(blocks)).flat()])
}

/** The same for the body of a function in PL/pgSQL. `definition`: CREATE FUNCTION or DO. */
export async function lookupsOfFunction(definition: string, options: LookupOptions = {}): Promise<readonly Lookup[]> {
  const parts: string[] = []
  collectSql(await parsePlPgSQL(definition), parts)
  return distinct((await Promise.all(parts.map((part) => lookupsOf(part, options)))).flat())
}

/** Collects the statements, the expressions and the types of a parsed body, each as a statement. */
function collectSql(value: unknown, parts: string[]): void {
  if (typeof value !== 'object' || value === null) return
  const { PLpgSQL_expr: expression, PLpgSQL_var: variable, PLpgSQL_type: type } = value as Node
  if (expression !== undefined) parts.push(statementOf(expression as Node))
  if (type !== undefined) parts.push(`SELECT NULL::${String((type as Node)['typname'])}`)
  // Parameters, and variables that PL/pgSQL declares, have no line.
  const { lineno, refname } = (variable ?? { lineno: 1 }) as Node
  if (lineno === undefined || OWN_VARIABLES.has(refname)) return
  for (const inner of Object.values(value)) collectSql(inner, parts)
}

function statementOf({ query, parseMode }: Node): string {
  const text = String(query)
  if (parseMode === 0) return text
  return `SELECT ${Number(parseMode) > 2 ? text.replace(/^.*?:?=/s, '') : text}`
}

/** One pass over parsed statements. */
class Walk {
  readonly found: Lookup[] = []
  /** The DO blocks. */
  readonly blocks: { readonly text: string; readonly mayOmitOperators: boolean }[] = []
  readonly #bytes: Buffer
  #mayOmitOperators: boolean

  constructor(sql: string, { mayOmitOperators = false }: LookupOptions) {
    this.#bytes = Buffer.from(sql)
    this.#mayOmitOperators = mayOmitOperators
  }

  /** `known`: the names of common table expressions. `at`: the position of the node around it, in bytes. */
  visit(value: unknown, known: ReadonlySet<string>, at: number): void {
    if (typeof value !== 'object' || value === null) return
    const node = value as Node
    const here = typeof node['location'] === 'number' ? node['location'] : at
    for (const [kind, token] of this.#lookups(node, known, here)) {
      if (kind === 'operator' && this.#mayOmitOperators) continue
      this.found.push({ kind, token, near: this.#textAt(here) })
    }
    if (fixesSearchPath(node['VariableSetStmt'])) this.#mayOmitOperators = true
    for (const text of blocksOf(node['DoStmt'])) this.blocks.push({ text, mayOmitOperators: this.#mayOmitOperators })
    const inner = node['withClause'] === undefined ? known : this.#withNames(node['withClause'] as Node, known, here)
    for (const [name, part] of Object.entries(node)) if (name !== 'withClause') this.visit(part, inner, here)
  }

  /** Reads common table expressions. Returns `known` with their names. */
  #withNames({ ctes, recursive }: Node, known: ReadonlySet<string>, at: number): ReadonlySet<string> {
    const parts = (ctes as Node[]).map((each) => each['CommonTableExpr'] as Node)
    const all = new Set([...known, ...parts.map(({ ctename }) => String(ctename))])
    const before = new Set(known)
    for (const { ctename, ctequery } of parts) {
      this.visit(ctequery, recursive === true ? all : before, at)
      before.add(String(ctename))
    }
    return all
  }

  *#lookups(node: Node, known: ReadonlySet<string>, at: number): Generator<readonly [Lookup['kind'], string]> {
    const { relname, schemaname, relpersistence, kind, name, subLinkType } = node
    for (const key of ['funcname', 'objname'] as const) if (isBare(node[key])) yield ['function', textOf(node[key])]
    if (Array.isArray(node['names']) && 'typemod' in node) {
      const last = partsOf(node['names']).at(-1)
      if (isBare(node['names']) || (NEW_KEYWORDS.has(last) && this.#startsWith(at, String(last))))
        yield ['type', String(last)]
    }
    if (typeof relname === 'string' && schemaname === undefined && relpersistence !== 't' && !known.has(relname))
      yield ['relation', relname]
    for (const list of namedRelations(node)) if (isBare(list)) yield ['relation', textOf(list)]
    if (isBare(node['collname'])) yield ['collation', textOf(node['collname'])]
    if (isBare(node['opclass'])) yield ['operator', textOf(node['opclass'])]
    if (isForeign(node['useOp'])) yield ['operator', textOf(node['useOp'])]
    if (isForeign(node['operName'])) yield ['operator', textOf(node['operName'])]
    if (subLinkType === 'ANY_SUBLINK' && node['operName'] === undefined) yield ['operator', 'IN (SELECT …)']
    if (typeof kind === 'string' && kind.startsWith('AEXPR_') && isForeign(name))
      yield ['operator', operatorOf(kind, name)]
    const { CaseExpr: simple, JoinExpr: join, TypeCast: cast } = node as Readonly<Record<string, Node | undefined>>
    if (simple?.['arg'] !== undefined) yield ['operator', 'CASE … WHEN']
    if (join?.['usingClause'] !== undefined) yield ['operator', 'JOIN … USING']
    if (join?.['isNatural'] === true) yield ['operator', 'NATURAL JOIN']
    if (cast !== undefined) yield* nameInLiteral(cast)
  }

  #startsWith(at: number, word: string): boolean {
    return this.#bytes.toString('utf8', at, at + word.length).toLowerCase() === word
  }

  #textAt(at: number): string {
    return this.#bytes
      .toString('utf8', Math.max(0, at - 30), at + 50)
      .replace(/\s+/g, ' ')
      .trim()
  }
}

/** An operator whose syntax has no place for a schema keeps its keyword. */
function operatorOf(kind: string, name: unknown): string {
  const keyword = kind.replace('AEXPR_', '').replaceAll('_', ' ')
  return ['OP', 'OP ANY', 'OP ALL'].includes(keyword) ? textOf(name) : keyword
}

function* nameInLiteral({ arg, typeName }: Node): Generator<readonly [Lookup['kind'], string]> {
  const constant = (arg as Node | undefined)?.['A_Const'] as Node | undefined
  const text = (constant?.['sval'] as Node | undefined)?.['sval']
  const kind = NAME_TYPES[partsOf((typeName as Node)['names']).at(-1) ?? '']
  if (kind !== undefined && typeof text === 'string' && !text.includes('.')) yield [kind, `'${text}'`]
}

/** The lists by which DROP, COMMENT and the like name relations. */
function namedRelations({ removeType, objtype, objects, object }: Node): readonly unknown[] {
  if (!RELATIONS.test(String(removeType ?? objtype))) return []
  return [object, ...(Array.isArray(objects) ? objects : [])].map((each) => {
    return ((each as Node | undefined)?.['List'] as Node | undefined)?.['items']
  })
}

function blocksOf(statement: unknown): readonly string[] {
  const args = ((statement as Node | undefined)?.['args'] ?? []) as Node[]
  return args
    .map((each) => each['DefElem'] as Node)
    .filter(({ defname }) => defname === 'as')
    .map(({ arg }) => textOf([arg]))
}

/** Whether a statement is SET LOCAL search_path = pg_catalog, pg_temp, for the rest of its message. */
function fixesSearchPath(statement: unknown): boolean {
  const { name, is_local, args } = (statement ?? {}) as Node
  const schemas = JSON.stringify(args)
    ?.match(/(?<="sval":")\w+/g)
    ?.join(', ')
  return name === 'search_path' && is_local === true && schemas === 'pg_catalog, pg_temp'
}

function isBare(list: unknown): boolean {
  return Array.isArray(list) && list.length === 1
}

/** Whether an operator is not named as one of pg_catalog. */
function isForeign(list: unknown): boolean {
  return Array.isArray(list) && list.length > 0 && !(list.length === 2 && partsOf(list)[0] === 'pg_catalog')
}

function textOf(list: unknown): string {
  return partsOf(list).join('.')
}

function partsOf(list: unknown): readonly string[] {
  return Array.isArray(list) ? list.map((each) => String(((each as Node)['String'] as Node | undefined)?.['sval'])) : []
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

function distinct(lookups: readonly Lookup[]): readonly Lookup[] {
  return [...new Map(lookups.map((each) => [JSON.stringify(each), each])).values()]
}

/** How the server logs statements for `statementsIn`. */
export const STATEMENT_LOG = { log_statement: 'all', log_line_prefix: '@@%u/%a/%d@@' } as const

/** A logged statement, and the role and the application_name of its session. */
export interface Statement {
  readonly role: string
  readonly application: string
  readonly database: string
  readonly text: string
}

/** Returns the statements that a server has logged, those included that it could not parse. */
export function statementsIn(log: string): readonly Statement[] {
  return log.split(/^@@/m).flatMap((entry) => {
    const [, role = '', application = '', database = '', text] =
      /^(.*?)\/(.*?)\/(.*?)@@(?:LOG: {2}(?:statement|execute [^:]+)|STATEMENT): {1,2}(.*?)\n?$/s.exec(entry) ?? []
    // The server indents the lines after the first one.
    return text === undefined ? [] : [{ role, application, database, text: text.replaceAll('\n\t', '\n') }]
  })
}

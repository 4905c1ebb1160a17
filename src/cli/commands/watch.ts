import { once } from 'node:events'
import type pg from 'pg'
import colors from 'picocolors'
import { type PostgresSource, postgresSource } from '../../../adapters/postgres/index.js'
import { systemClock } from '../../clock.js'
import { SourceError } from '../../errors.js'
import type { Equal } from '../../index-types.js'
import { createInformer, type Informer } from '../../informer.js'
import type { Scalar } from '../../scalar.js'
import { type Asked, failureOf, lineOf, withCommands } from '../advice.js'
import { parseDuration } from '../duration.js'
import { endAfter, endForGood, endingSignal } from '../ending.js'
import { Failure } from '../failure.js'
import { Meter } from '../meter.js'
import { flow, pair, statusLines, thousands } from '../picture.js'
import { checkPostgresUrl, loadPg, withPg } from '../postgres-driver.js'
import { show } from '../screen.js'

export interface WatchFlags {
  readonly table: string
  readonly index: readonly string[]
  readonly columns?: readonly string[]
  readonly where?: string
  readonly rls?: 'row-local'
  readonly json?: boolean
  readonly for?: string
}

type Row = Readonly<Record<string, unknown>>
type Indexes = Readonly<Record<string, Equal<Row, Scalar>>>

/** Mirrors a table of the user's, and tells of it: as NDJSON, or as a live picture. */
export async function watch(url: string, flags: WatchFlags): Promise<void> {
  const forMs = flags.for === undefined ? undefined : parseDuration(flags.for, '--for')
  const connectionString = checkPostgresUrl(url)
  const driver = await loadPg()
  const { table, where, rls, columns: wanted } = flags
  if (flags.index.length > 0) await withPg({ url, table }, (client) => assertColumns(client, flags))
  const source = postgresSource<Row>({
    client: () => new driver.Client({ connectionString, application_name: 'listwatch' }),
    table,
    ...(wanted === undefined ? {} : { columns: wanted }),
    ...(where === undefined ? {} : { where }),
    ...(rls === undefined ? {} : { rls }),
  })
  const ending = endingSignal()
  const rows = createInformer({
    source,
    indexes: (ix) =>
      Object.fromEntries(
        flags.index.map((column) => [column, ix.multi((row: Row) => valuesOf(row, column))]),
      ) as Indexes,
  })
  try {
    if (process.stdout.isTTY && flags.json !== true) process.stdout.write(colors.dim(`reading ${lineOf(table)} …\n`))
    await firstList(rows, { url, table }, ending.signal)
    if (ending.signal.aborted) return
    endAfter(forMs, ending)
    await (flags.json === true ? printChanges(rows, ending.signal) : showRows(rows, source, flags, ending))
  } finally {
    await rows.stop()
    endForGood(ending)
  }
}

/** Before the first list is in, any failure ends the command: it is most likely a mistake in the command line. */
async function firstList(rows: Informer<Row, Indexes>, asked: Asked, signal: AbortSignal): Promise<void> {
  const failed = Promise.withResolvers<never>()
  const refuse = ({ code, cause }: SourceError): void =>
    failed.reject(failureOf(new SourceError(rows.status.reason, { code, cause }), asked))
  rows.on('error', refuse)
  try {
    await Promise.race([rows.start({ signal }).synced({ signal }), failed.promise])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    rows.off('error', refuse)
    rows.on('error', (error) => {
      if (!process.stdout.isTTY) process.stderr.write(`listwatch: ${lineOf(withCommands(error.message, asked))}\n`)
    })
  }
}

/** An index on a column that is not mirrored would stay empty without a word. A table that is not there is told of later. */
async function assertColumns(client: pg.Client, { table, index, columns }: WatchFlags): Promise<void> {
  const sql = `SELECT attname::text AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`
  const names = (await client.query<{ name: string }>(sql, [table])).rows.map(({ name }) => name)
  if (names.length === 0) return
  const missing = index.find((column) => !names.includes(column))
  if (missing !== undefined)
    throw new Failure(`--index: ${table} has no column "${missing}"; it has ${names.join(', ')}`)
  const unmirrored = index.find((column) => columns !== undefined && !columns.includes(column))
  if (unmirrored !== undefined) throw new Failure(`--index: "${unmirrored}" is not mirrored; add it to --columns`)
}

/** One line for each change; `{"type":"synced"}` after those that tell what is there at the beginning. */
async function printChanges(rows: Informer<Row, Indexes>, signal: AbortSignal): Promise<void> {
  let isSynced = false
  for await (const batch of rows.changes({ signal })) {
    let lines = ''
    for (const { type, key, object, previous, origin } of batch.changes) {
      lines += `${JSON.stringify({ type, key, object, previous, origin }, printable)}\n`
    }
    if (batch.isSynced && !isSynced)
      lines += `${JSON.stringify({ type: 'synced', rows: rows.size, version: batch.version })}\n`
    isSynced ||= batch.isSynced
    if (lines !== '' && !process.stdout.write(lines)) await once(process.stdout, 'drain', { signal }).catch(() => {})
  }
}

async function showRows(
  rows: Informer<Row, Indexes>,
  source: PostgresSource<Row>,
  flags: WatchFlags,
  ending: AbortController,
): Promise<void> {
  const meter = new Meter(systemClock)
  const count = ({ origin }: { readonly origin: string }): void => {
    if (origin !== 'initial') meter.add(undefined)
  }
  rows.subscribe({ add: count, update: count, delete: count })
  const keys = new Map([['q', () => ending.abort()]])
  const picture = (): string[] => [
    ...statusLines(source.name, rows.status, rows.size, meter),
    ...flags.index.flatMap((column) => topOf(column, rows.by[column])),
    ...(rows.invalid.size === 0 ? [] : [colors.yellow(`${rows.invalid.size} rows cannot be decoded`)]),
    colors.dim('[q] quit'),
  ]
  const line = (): string => {
    const { state, relists, reconnects } = rows.status
    return `${state}: ${rows.size} rows, ${meter.rate} changes/s, ${relists} relists, ${reconnects} reconnects`
  }
  await show({ picture, line }, keys, systemClock, ending.signal)
}

/** The values that most rows have. */
function topOf(column: string, index: Equal<Row, Scalar> | undefined): string[] {
  const values = [...(index?.values() ?? [])].map((value) => [String(value), index?.count(value) ?? 0] as const)
  const top = values.sort((a, b) => b[1] - a[1]).slice(0, 5)
  return flow([colors.dim(`by ${column}`), ...top.map(([value, count]) => pair(value, thousands(count)))])
}

/** An array is found by each of its elements; what is no scalar is in no index. */
function valuesOf(row: Row, column: string): Scalar[] {
  const values: unknown[] = [row[column]].flat()
  return values.filter(
    (value) => value instanceof Date || ['string', 'number', 'bigint', 'boolean'].includes(typeof value),
  ) as Scalar[]
}

function printable(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

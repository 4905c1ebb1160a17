import { watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { ABORTED, isEpochChange, messageOf } from '../../src/contract/errors.js'
import type { ListEvent, SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import { keyOf } from '../common/columns.js'
import { PollTimer } from '../common/poll-timer.js'
import { propertiesOf } from '../common/properties.js'
import { expired, forked, notFound, unavailable } from '../common/source-errors.js'
import { integer, otherHistory, textField, versionFormat } from '../common/version-format.js'
import { findLoggedTable, NEW_EPOCH_SQL } from './change-log-sql.js'
import { Connection, type Waiting } from './connection.js'
import { isBusy, sqliteError } from './sqlite-errors.js'
import { checkSqliteOptions, type SqliteSource, type SqliteSourceOptions } from './sqlite-options.js'
import { quoted } from './table.js'
import { checkCondition, type Place, TableReader } from './table-reader.js'

/**
 * Returns a source that mirrors a table of a SQLite file by the change log that `listwatch sqlite install` creates. It
 * opens connections only for lists, watches and `head`.
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError that names a wrong or missing option.
 *
 * @example
 * ```ts
 * import { DatabaseSync } from 'node:sqlite'
 *
 * const source = sqliteSource<Order>({
 *   connect: () => new DatabaseSync('app.db', { readOnly: true }),
 *   table: 'orders',
 * })
 * const orders = createInformer({ source })
 * ```
 */
export function sqliteSource<T = unknown>(options: SqliteSourceOptions): SqliteSource<T> {
  checkSqliteOptions(options)
  return changeLogSource<T>({ ...options })
}

/** The time between two comparisons of the files, and the longest time between two bookmarks, in milliseconds. */
const CHECK_MS = 1_000
/** The number of rows of the log that are read before the event loop continues. */
const SLICE = 1_000

const MARK_SQL = 'SELECT mark FROM main.listwatch_mark'
const STATE_SQL = `SELECT s.epoch, l.n, l.r, (SELECT r FROM main.listwatch_log WHERE n = ?) AS known
  FROM main.listwatch_state AS s, (SELECT n, r FROM main.listwatch_log ORDER BY n DESC LIMIT 1) AS l`

function changeLogSource<T>(options: SqliteSourceOptions): SqliteSource<T> {
  const { table, columns, sql, integers, pollIntervalMs = 50, timeoutMs = 5_000 } = options
  const warnings = new Set<string>()
  let path: string | undefined

  const waitingOf = ({ signal, clock }: SourceContext): Waiting => ({ signal, clock, timeoutMs })

  const open = async ({ signal }: SourceContext): Promise<Connection> => {
    if (signal.aborted) throw ABORTED
    const known = path
    path = undefined // The next attempt finds out which file a link names now.
    const connection = Connection.open(options.connect, known)
    path = connection.path
    return connection
  }

  /** Reads the end of the log, and the stamp that it has at a number. */
  const stateOf = (connection: Connection, n: number): LogState => {
    const { schema_version: schema } = connection.get('PRAGMA main.schema_version')
    const { epoch, n: last, r, known } = connection.get(STATE_SQL, n)
    if (epoch === undefined)
      throw notFound('the change log of the file is empty; run: npx listwatch sqlite epoch <file>')
    const at = { epoch: String(epoch), schema: Number(schema), n: Number(last), stamp: Number(r) }
    return { at, known: typeof known === 'number' ? known : undefined }
  }

  const readerOf = (connection: Connection): TableReader<T> => {
    const { table: given, sql } = options
    const table = findLoggedTable((query, ...values) => connection.all(query, ...values), given, connection.path)
    if (sql !== undefined) checkCondition(connection, table, sql)
    return new TableReader<T>(connection, table, options)
  }

  const deltaOf = async (
    connection: Connection,
    from: SqliteVersion,
    known: TableReader<T> | undefined,
    context: SourceContext,
  ): Promise<{ reader: TableReader<T>; at: SqliteVersion; events: readonly ListEvent<T>[] }> => {
    const { maxDeltaRows = 250_000 } = options
    const found = await connection.snapshot(
      waitingOf(context),
      () => {
        const reader = known ?? readerOf(connection)
        const state = stateOf(connection, from.n)
        assertContinues(state, from)
        return { at: state.at, reader }
      },
      async ({ at, reader }) => {
        if (at.n - from.n > maxDeltaRows && reader.countOfChanges(from.n) > maxDeltaRows)
          throw expired('so many rows were changed that a list is cheaper')
        return { at, reader, events: await readChanges(reader, from.n, at.n, context) }
      },
    )
    if (found.reader.hasLeftOut) warnOf(connection, found.reader, context)
    return found
  }

  const warnOf = (connection: Connection, { hasLeftOut }: TableReader<T>, { warn }: SourceContext): void => {
    const table = quoted(options.table)
    const { journal_mode: mode } = connection.get('PRAGMA main.journal_mode')
    for (const problem of [
      hasLeftOut && `rows of ${table} are not mirrored: their key is NULL, or of another type than its column`,
      mode !== 'wal' &&
        `${connection.path} has no WAL, so readers and writers wait for each other; run: PRAGMA journal_mode = WAL`,
    ]) {
      if (problem === false || warnings.has(problem)) continue
      warnings.add(problem)
      warn?.(problem)
    }
  }

  return {
    name: `sqlite:${table}`,
    selection: JSON.stringify({ table, columns, sql, integers }),
    heartbeatMs: CHECK_MS + pollIntervalMs + timeoutMs,
    key: keyOf,
    hasReached: includesMark,
    async *list(context) {
      const { signal, clock } = context
      const waiting = waitingOf(context)
      const connection = await open(context)
      try {
        // No read transaction stays open: it would keep the WAL growing, or every writer waiting.
        const { reader, at, end } = await connection.snapshot(
          waiting,
          () => {
            const floor = context.floor === undefined ? undefined : versions.parse(context.floor)
            const reader = readerOf(connection)
            const state = stateOf(connection, floor?.n ?? 0)
            if (floor?.epoch === state.at.epoch) assertSameHistory(state, floor)
            return { at: state.at, reader }
          },
          (found) => ({ ...found, end: found.reader.last() }),
        )
        // Rows after `end` are in the log. Without this bound the list would never end beside a fast writer.
        for (let after: Place | undefined, isRead = false; end !== undefined && !isRead; ) {
          const { events, to } = await connection.unlessBusy(waiting, () => {
            try {
              return reader.page(after, end, context.pageSize)
            } catch (error) {
              // A column that is gone is not a mistake of the program.
              if (!isBusy(error)) assertUnchanged(stateOf(connection, at.n), at)
              throw error
            }
          })
          yield { events }
          context.alive?.()
          after = to
          isRead = to === undefined
          await clock.sleep(0, signal)
        }
        connection.assertSameFiles()
        const { version, events } = await connection.snapshot(
          waiting,
          () => stateOf(connection, at.n),
          async (state) => {
            assertUnchanged(state, at)
            return { version: state.at, events: await readChanges(reader, at.n, state.at.n, context) }
          },
        )
        warnOf(connection, reader, context)
        yield { events, version: versions.format(version) }
      } finally {
        connection.close()
      }
    },
    async *watch(context) {
      const { signal, clock, onProgressRequest } = context
      const waiting = waitingOf(context)
      const timer = new PollTimer(clock, Math.min(pollIntervalMs, CHECK_MS))
      let at = versions.parse(context.after)
      let reader: TableReader<T> | undefined
      let dataVersion: unknown
      let isRequested = true
      let checkedAt = Number.NEGATIVE_INFINITY // The first comparison remembers the files.
      let yieldedAt = clock.now()
      const connection = await open(context)
      onProgressRequest(() => {
        isRequested = true
        timer.wake()
      })
      const isWatched = options.wake !== 'poll'
      const watchOn = (): (() => void) =>
        watchFiles(
          connection.path,
          () => timer.wake(),
          () => {
            checkedAt = Number.NEGATIVE_INFINITY
          },
        )
      let endWake: (() => void) | undefined
      try {
        for (;;) {
          // Its writes are slower while a file is watched: a small commit takes a third longer.
          if (timer.isPaced) endWake = void endWake?.()
          else if (isWatched) endWake ??= watchOn()
          const seen = await connection.unlessBusy(waiting, () => connection.get('PRAGMA main.data_version'))
          let events: readonly ListEvent<T>[] = []
          if (seen['data_version'] !== dataVersion) {
            const delta = await deltaOf(connection, at, reader, context)
            dataVersion = seen['data_version']
            isRequested ||= delta.at.n !== at.n
            ;({ reader, at, events } = delta)
            if (events.length > 0) timer.changed(events.length)
          }
          const now = clock.now()
          if (now - checkedAt >= CHECK_MS) {
            connection.assertSameFiles()
            checkedAt = now
          }
          if (isRequested || now - yieldedAt >= CHECK_MS) {
            isRequested = false
            yieldedAt = now
            yield { events, version: versions.format(at) }
          }
          await timer.next(signal)
          if (signal.aborted) throw ABORTED
        }
      } catch (error) {
        if (isEpochChange(error)) startEpoch(connection, at)
        throw error
      } finally {
        endWake?.()
        connection.close()
      }
    },
    head: async (context) => {
      const connection = await open(context)
      try {
        return await connection.unlessBusy(waitingOf(context), () => String(connection.get(MARK_SQL)['mark']))
      } finally {
        connection.close()
      }
    },
    mark: (database) => {
      try {
        return String(propertiesOf(database.prepare(MARK_SQL).get())['mark'])
      } catch (error) {
        throw sqliteError(error)
      }
    },
  }
}

/** Reads the current state of the keys that were logged after `from`, up to `to`. The event loop continues meanwhile. */
async function readChanges<T>(
  reader: TableReader<T>,
  from: number,
  to: number,
  { signal, clock }: SourceContext,
): Promise<ListEvent<T>[]> {
  const events: ListEvent<T>[] = []
  for (let after = from; after < to; after += SLICE) {
    if (after > from) await clock.sleep(0, signal)
    for (const event of reader.changed(after, Math.min(after + SLICE, to))) events.push(event)
  }
  return events
}

/** Begins another epoch, if the connection may write: then waits for marks of the lost history reject. */
function startEpoch(connection: Connection, { epoch }: SqliteVersion): void {
  try {
    connection.exec('BEGIN IMMEDIATE')
    if (connection.get('SELECT epoch FROM main.listwatch_state')['epoch'] === epoch) connection.exec(NEW_EPOCH_SQL)
    connection.exec('COMMIT')
  } catch {} // The list continues without.
}

/** Throws if a list that began at a version cannot be completed: the history has changed, or is gone. */
function assertUnchanged(state: LogState, at: SqliteVersion): void {
  try {
    assertContinues(state, at)
  } catch (error) {
    throw unavailable(`the file was changed during the list: ${messageOf(error)}`)
  }
}

/**
 * Calls `onWrite` after writes to the file of a database or to its -wal. It is only a hint: not all platforms and file
 * systems report all writes. `onReplace` is called when one of the files was created, deleted or renamed. Returns a function
 * that ends the watch.
 */
function watchFiles(path: string, onWrite: () => void, onReplace: () => void): () => void {
  const own = basename(path)
  try {
    // The folder, because the -wal may not exist yet, and is replaced.
    const watcher = watch(dirname(path), { persistent: false }, (event, name) => {
      if (name !== null && name !== own && name !== `${own}-wal` && name !== `${own}-shm`) return
      if (event === 'rename') onReplace()
      onWrite()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    return () => {} // Polls find all changes.
  }
}

interface Position {
  readonly epoch: string
  /** The number of the row. It grows with each commit. */
  readonly n: number
  /** The random number of the row. If two files have the same one at a number, they have the same history up to it. */
  readonly stamp: number
}

interface SqliteVersion extends Position {
  /** SQLite's `schema_version`, which every DDL changes. A change of the schema may change rows without a log. */
  readonly schema: number
}

const OF = 'a SQLite source'

const epoch = textField(/^[0-9a-f]{16}$/)
const versions = versionFormat<SqliteVersion>('sl1', OF, { epoch, schema: integer, n: integer, stamp: integer })
const marks = versionFormat<Position>('slm1', OF, { epoch, n: integer, stamp: integer })

function parsePosition(version: Version): Position {
  return version.startsWith('slm1.') ? marks.parse(version) : versions.parse(version)
}

function includesMark(at: Version, mark: Version): boolean {
  const [ours, theirs] = [parsePosition(at), parsePosition(mark)]
  if (ours.epoch !== theirs.epoch) throw otherHistory('it is of another epoch')
  // The transaction of such a mark was rolled back, or lost by a restore. Another one has its number.
  if (ours.n === theirs.n && ours.stamp !== theirs.stamp) throw otherHistory('its transaction was undone')
  return ours.n >= theirs.n
}

/** The end of the log, and what it has at a version, in one snapshot. */
interface LogState {
  readonly at: SqliteVersion
  /** The stamp of the row that the version names; undefined if there is no such row. */
  readonly known: number | undefined
}

function assertContinues({ at, known }: LogState, from: SqliteVersion): void {
  assertSameHistory({ at, known }, from)
  if (known === undefined) throw expired('its row of the change log was removed')
  if (at.schema !== from.schema) throw expired('the schema of the file was changed')
}

/** Throws `EPOCH_CHANGED` if the version is certainly of another history. */
function assertSameHistory({ at, known }: LogState, from: SqliteVersion): void {
  if (at.epoch !== from.epoch) throw forked('the file has another epoch')
  if (at.n < from.n) throw forked('the file is an older copy')
  if (known !== undefined && known !== from.stamp) throw forked('an older copy of the file was written to')
}

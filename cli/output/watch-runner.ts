import { systemClock } from '../../src/contract/clock.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Change } from '../../src/queue/change.js'
import type { Equal, IndexBuilder } from '../../src/store/indexes/index-types.js'
import type { Scalar } from '../../src/store/indexes/scalar.js'
import { parseDuration } from '../args/duration.js'
import { fieldOf } from '../args/fields.js'
import { objectNoun } from '../args/source-kinds.js'
import { colors } from '../bundled.js'
import { forceExit, shutDownAfter, shutdownSignal } from '../shutdown-signal.js'
import type { OpenSource, Row } from '../sources/source-types.js'
import { ChangeLines } from './change-lines.js'
import { oneLine } from './error-hints.js'
import { awaitFirstList, reportErrors } from './first-list.js'
import { printChanges } from './json-changes.js'
import { RateMeter } from './rate-meter.js'
import { labelled, statusLines, thousands, wrapParts } from './status-view.js'
import { showView } from './terminal-ui.js'

export interface WatchFlags {
  readonly index: readonly string[]
  /** The fields that a terminal shows of each changed object. */
  readonly fields?: readonly string[]
  readonly json?: boolean
  readonly for?: string
}

type Indexes = Readonly<Record<string, Equal<Row, Scalar>>>

/** Mirrors a source, and prints its changes as NDJSON or as a live view. */
export async function runWatch(open: OpenSource, flags: WatchFlags): Promise<void> {
  const forMs = durationOf(flags)
  const { source } = open
  const shutdown = shutdownSignal()
  const rows = createInformer({
    source,
    indexes: indexesOf(flags.index),
  })
  try {
    const hasScreen = process.stdout.isTTY && flags.json !== true
    if (hasScreen) process.stdout.write(colors.dim(`reading ${oneLine(open.of)} …\n`))
    const unnamed = reportErrors(rows, open, hasScreen)
    await awaitFirstList(rows, open, shutdown.signal)
    if (shutdown.signal.aborted) return
    const hint = (): string | undefined => (rows.size + rows.invalid.size === 0 ? open.ifEmpty : undefined)
    if (!hasScreen && hint() !== undefined) process.stderr.write(`listwatch: ${hint()}\n`)
    shutDownAfter(forMs, shutdown)
    await (flags.json === true
      ? printChanges(rows, shutdown.signal)
      : showRows(rows, flags, open, { unnamed, hint }, shutdown))
  } finally {
    await rows.stop()
    forceExit(shutdown)
  }
}

/** Declares an index for each column. A field that is an array has one value for each element. */
export function indexesOf(columns: readonly string[]): (ix: IndexBuilder<Row>) => Indexes {
  return (ix) => Object.fromEntries(columns.map((column) => [column, ix.multi((row) => valuesOf(row, column))]))
}

/** Returns the value of --for in milliseconds. Throws a CliError for a wrong duration. */
export function durationOf(flags: Pick<WatchFlags, 'for'>): number | undefined {
  return flags.for === undefined ? undefined : parseDuration(flags.for, '--for')
}

async function showRows(
  rows: Informer<Row, Indexes>,
  flags: WatchFlags,
  { source, kind }: OpenSource,
  { unnamed, hint }: Readonly<Record<'unnamed' | 'hint', () => string | undefined>>,
  shutdown: AbortController,
): Promise<void> {
  const things = objectNoun(kind)
  const meter = new RateMeter(systemClock)
  const changes = new ChangeLines({ fields: flags.fields, isKubernetes: kind === 'kubernetes' })
  const onChange = (change: Change<Row>): void => {
    if (change.origin === 'initial') return
    meter.add(change.origin === 'watch' ? rows.status.lagMs : undefined)
    changes.add(systemClock.now(), change)
  }
  rows.subscribe({ add: onChange, update: onChange, delete: onChange })
  const keys = new Map([['q', () => shutdown.abort()]])
  const picture = (): string[] => [
    ...statusLines(source.name, rows.status, [things, rows.size], meter),
    ...flags.index.flatMap((column) => topValues(column, rows.by[column])),
    ...undecoded(rows, things, unnamed()).map(colors.yellow),
    ...[hint() ?? []].flat().map(colors.yellow),
    colors.dim('[q] quit'),
  ]
  const line = (): string => {
    const { state, relists, reconnects } = rows.status
    const bad = rows.invalid.size === 0 ? '' : `, ${rows.invalid.size} cannot be decoded`
    return `${state}: ${rows.size} ${things}, ${meter.rate} changes/s, ${relists} relists, ${reconnects} reconnects${bad}`
  }
  await showView({ frame: picture, line, log: () => changes.take() }, keys, systemClock, shutdown.signal)
}

/** The number of undecodable objects, the error of the first one, and the newest error of an object without a key. */
function undecoded({ invalid }: Informer<Row, Indexes>, things: string, unnamed: string | undefined): string[] {
  const [first] = invalid.values()
  return [
    ...(first === undefined ? [] : [`${thousands(invalid.size)} ${things} cannot be decoded`, oneLine(first)]),
    ...(unnamed === undefined ? [] : [unnamed]),
  ]
}

/** The most frequent values of an index. */
function topValues(column: string, index: Equal<Row, Scalar> | undefined): string[] {
  const values = [...(index?.values() ?? [])].map((value) => [String(value), index?.count(value) ?? 0] as const)
  const top = values.sort((a, b) => b[1] - a[1]).slice(0, 5)
  return wrapParts([colors.dim(`by ${column}`), ...top.map(([value, count]) => labelled(value, thousands(count)))])
}

/**
 * Returns the index values of a field. An array has one value for each element. Values that are not scalars are
 * skipped.
 */
function valuesOf(row: Row, column: string): Scalar[] {
  const values: unknown[] = [fieldOf(row, column)].flat()
  return values.filter(isScalar)
}

function isScalar(value: unknown): value is Scalar {
  return value instanceof Date || ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

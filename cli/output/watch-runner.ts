import { once } from 'node:events'
import { systemClock } from '../../src/contract/clock.js'
import { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Change } from '../../src/queue/change.js'
import type { Equal } from '../../src/store/indexes/index-types.js'
import type { Scalar } from '../../src/store/indexes/scalar.js'
import { parseDuration } from '../args/duration.js'
import { fieldOf, printable } from '../args/fields.js'
import { objectNoun, type SourceKind } from '../args/source-kinds.js'
import { colors } from '../bundled.js'
import { ChangeLines } from './change-lines.js'
import type { CliError } from './cli-error.js'
import { oneLine } from './error-hints.js'
import { RateMeter } from './rate-meter.js'
import { forceExit, shutDownAfter, shutdownSignal } from './shutdown-signal.js'
import { labelled, statusLines, thousands, wrapParts } from './status-view.js'
import { showView } from './terminal-ui.js'

export interface WatchFlags {
  readonly index: readonly string[]
  /** The fields of each changed object that a terminal shows. */
  readonly fields?: readonly string[]
  readonly json?: boolean
  readonly for?: string
}

/** How a kind of source speaks to the user. */
export interface SourceDescription {
  readonly kind: SourceKind
  /** What is mirrored. */
  readonly of: string
  /** An error that ends the command. */
  toCliError(error: SourceError): CliError
  /** An error that does not. */
  message(text: string): string
  /** What to check if the first list is empty: a misspelt name looks like one of which nothing exists yet. */
  readonly ifEmpty?: string
}

export type Row = Readonly<Record<string, unknown>>
type Indexes = Readonly<Record<string, Equal<Row, Scalar>>>

/** Mirrors a source, and tells of it: as NDJSON, or as a live picture. */
export async function runWatch(
  source: ListerWatcher<Row>,
  flags: WatchFlags,
  speech: SourceDescription,
): Promise<void> {
  const forMs = durationOf(flags)
  const ending = shutdownSignal()
  const rows = createInformer({
    source,
    indexes: (ix) =>
      Object.fromEntries(
        flags.index.map((column) => [column, ix.multi((row: Row) => valuesOf(row, column))]),
      ) as Indexes,
  })
  try {
    const hasScreen = process.stdout.isTTY && flags.json !== true
    if (hasScreen) process.stdout.write(colors.dim(`reading ${oneLine(speech.of)} …\n`))
    const unnamed = reportErrors(rows, speech, hasScreen)
    await awaitFirstList(rows, speech, ending.signal)
    if (ending.signal.aborted) return
    const hint = (): string | undefined => (rows.size + rows.invalid.size === 0 ? speech.ifEmpty : undefined)
    if (!hasScreen && hint() !== undefined) process.stderr.write(`listwatch: ${hint()}\n`)
    shutDownAfter(forMs, ending)
    await (flags.json === true
      ? printChanges(rows, ending.signal)
      : showRows(rows, source, flags, speech, { unnamed, hint }, ending))
  } finally {
    await rows.stop()
    forceExit(ending)
  }
}

/** How long to mirror, in milliseconds; refuses what is no duration. */
export function durationOf(flags: WatchFlags): number | undefined {
  return flags.for === undefined ? undefined : parseDuration(flags.for, '--for')
}

/** An object that cannot be decoded: it is named, and the mirror goes on without it. */
function isDecodeError({ code, phase }: SourceError): boolean {
  return code === 'DECODE' && phase === 'decode'
}

/**
 * Tells of each object that cannot be decoded, and after the first list of everything else that fails. Where there is a screen
 * nothing is printed: the picture has the state and its reason, and what is returned here, of the newest one without a key.
 */
function reportErrors(
  rows: Informer<Row, Indexes>,
  { message }: SourceDescription,
  hasScreen: boolean,
): () => string | undefined {
  let unnamed: string | undefined
  rows.on('error', (error) => {
    const line = oneLine(message(error.message))
    if (!isDecodeError(error) && !rows.status.isSynced) return // It ends the command.
    if (isDecodeError(error) && error.key === undefined) unnamed = line
    if (!hasScreen) process.stderr.write(`listwatch: ${line}\n`)
  })
  return () => unnamed
}

/** Before the first list is in, any failure to read it ends the command: it is most likely a mistake in the command line. */
async function awaitFirstList(
  rows: Informer<Row, Indexes>,
  speech: SourceDescription,
  signal: AbortSignal,
): Promise<void> {
  const failed = Promise.withResolvers<never>()
  const refuse = (error: SourceError): void => {
    const { code, cause } = error
    if (!isDecodeError(error)) failed.reject(speech.toCliError(new SourceError(rows.status.reason, { code, cause })))
  }
  rows.on('error', refuse)
  try {
    await Promise.race([rows.start({ signal }).synced({ signal }), failed.promise])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    rows.off('error', refuse)
  }
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
      lines += `${JSON.stringify({ type: 'synced', size: rows.size, version: batch.version })}\n`
    isSynced ||= batch.isSynced
    if (lines !== '' && !process.stdout.write(lines)) await once(process.stdout, 'drain', { signal }).catch(() => {})
  }
}

async function showRows(
  rows: Informer<Row, Indexes>,
  source: ListerWatcher<Row>,
  flags: WatchFlags,
  { kind }: SourceDescription,
  { unnamed, hint }: Readonly<Record<'unnamed' | 'hint', () => string | undefined>>,
  ending: AbortController,
): Promise<void> {
  const things = objectNoun(kind)
  const meter = new RateMeter(systemClock)
  const changes = new ChangeLines({ fields: flags.fields, isKubernetes: kind === 'kubernetes' })
  const see = (change: Change<Row>): void => {
    if (change.origin === 'initial') return
    meter.add(change.origin === 'watch' ? rows.status.lagMs : undefined)
    changes.add(systemClock.now(), change)
  }
  rows.subscribe({ add: see, update: see, delete: see })
  const keys = new Map([['q', () => ending.abort()]])
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
  await showView({ frame: picture, line, log: () => changes.take() }, keys, systemClock, ending.signal)
}

/** How many objects cannot be decoded, and why the first cannot; and the newest of which not even the key is known. */
function undecoded({ invalid }: Informer<Row, Indexes>, things: string, unnamed: string | undefined): string[] {
  const [first] = invalid.values()
  return [
    ...(first === undefined ? [] : [`${thousands(invalid.size)} ${things} cannot be decoded`, oneLine(first)]),
    ...(unnamed === undefined ? [] : [unnamed]),
  ]
}

/** The values that most of them have. */
function topValues(column: string, index: Equal<Row, Scalar> | undefined): string[] {
  const values = [...(index?.values() ?? [])].map((value) => [String(value), index?.count(value) ?? 0] as const)
  const top = values.sort((a, b) => b[1] - a[1]).slice(0, 5)
  return wrapParts([colors.dim(`by ${column}`), ...top.map(([value, count]) => labelled(value, thousands(count)))])
}

/** An array is found by each of its elements; what is no scalar is in no index. What is inside is named with dots. */
function valuesOf(row: Row, column: string): Scalar[] {
  const values: unknown[] = [fieldOf(row, column)].flat()
  return values.filter(
    (value) => value instanceof Date || ['string', 'number', 'bigint', 'boolean'].includes(typeof value),
  ) as Scalar[]
}

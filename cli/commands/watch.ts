import { systemClock } from '../../src/contract/clock.js'
import { createInformer } from '../../src/informer/create-informer.js'
import { groupInformers } from '../../src/informer/informer-group.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Equal, IndexBuilder } from '../../src/store/indexes/index-types.js'
import type { Scalar } from '../../src/store/indexes/scalar.js'
import { parseDuration } from '../args/duration.js'
import { fieldOf } from '../args/fields.js'
import { objectNoun } from '../args/source-kinds.js'
import { type Command, colors } from '../bundled.js'
import { ChangeLines } from '../output/change-lines.js'
import { oneLine } from '../output/error-hints.js'
import { awaitFirstList, reportErrors } from '../output/first-list.js'
import { printChanges } from '../output/json-changes.js'
import { changesOf, type Indexes, type Mirror, nameAmong } from '../output/mirrors.js'
import { RateMeter } from '../output/rate-meter.js'
import { labelled, statusLines, thousands, withoutControls, wrapParts } from '../output/status-view.js'
import { showView } from '../output/terminal-ui.js'
import { shutDownAfter, shutdownSignal } from '../shutdown-signal.js'
import { openSources, type SourceFlags } from '../sources/open-source.js'
import type { Row } from '../sources/source-types.js'

interface WatchFlags {
  readonly index: readonly string[]
  readonly fields?: readonly string[]
  readonly json?: boolean
  readonly for?: string
}

/** Mirrors a source, or collections with a common history. Prints their changes as NDJSON or as a live view. */
export async function watch(url: string, flags: WatchFlags & SourceFlags, command: Command): Promise<void> {
  const forMs = durationOf(flags) // It is checked before anything is opened.
  using opened = await openSources(url, flags, command)
  using shutdown = shutdownSignal()
  const { signal } = shutdown
  const mirrors = opened.map(
    (open): Mirror => ({ open, rows: createInformer({ source: open.source, indexes: indexesOf(flags.index) }) }),
  )
  await using _all = groupInformers(mirrors.map(({ rows }) => rows))
  const hasScreen = process.stdout.isTTY && flags.json !== true
  if (hasScreen) process.stdout.write(colors.dim(`reading ${oneLine(opened.map(({ of }) => of).join(', '))} …\n`))
  const shown = mirrors.map((mirror): Shown => {
    const { open, rows } = mirror
    const unnamed = reportErrors(rows, open, hasScreen)
    const hint = (): string | undefined => (rows.size + rows.invalid.size === 0 ? open.ifEmpty : undefined)
    return { ...mirror, unnamed, hint, meter: new RateMeter() }
  })
  await Promise.all(mirrors.map(({ rows, open }) => awaitFirstList(rows, open, signal)))
  if (signal.aborted) return
  for (const { hint } of shown) if (!hasScreen && hint() !== undefined) process.stderr.write(`listwatch: ${hint()}\n`)
  shutDownAfter(forMs, shutdown)
  await (flags.json === true ? printChanges(mirrors, signal) : showMirrors(shown, flags, shutdown))
}

/** Declares an index for each column. A field that is an array has one value for each element. */
export function indexesOf(columns: readonly string[]): (ix: IndexBuilder<Row>) => Indexes {
  return (ix) => Object.fromEntries(columns.map((column) => [column, ix.multi((row) => valuesOf(row, column))]))
}

/** Returns the value of --for in milliseconds. Throws a CliError for a wrong duration. */
export function durationOf(flags: Pick<WatchFlags, 'for'>): number | undefined {
  return flags.for === undefined ? undefined : parseDuration(flags.for, '--for')
}

interface Shown extends Mirror {
  unnamed(): string | undefined
  hint(): string | undefined
  readonly meter: RateMeter
}

async function showMirrors(mirrors: readonly Shown[], flags: WatchFlags, shutdown: AbortController): Promise<void> {
  const isKubernetes = mirrors.some(({ open }) => open.kind === 'kubernetes')
  const changes = new ChangeLines({ fields: flags.fields, isKubernetes })
  const following = follow(mirrors, changes, shutdown.signal)
  following.catch(() => shutdown.abort())
  const keys = new Map([['q', () => shutdown.abort()]])
  const picture = (): string[] => [...mirrors.flatMap((mirror) => pictureOf(mirror, flags)), colors.dim('[q] quit')]
  const line = (): string => mirrors.map((mirror) => lineOf(mirrors, mirror)).join('; ')
  await showView({ frame: picture, line, log: () => changes.take() }, keys, shutdown.signal)
  await following
}

async function follow(mirrors: readonly Shown[], lines: ChangeLines, signal: AbortSignal): Promise<void> {
  for await (const { parts } of changesOf(mirrors, signal)) {
    let isContinued = false
    for (const [mirror, changes] of parts) {
      for (const change of changes) {
        if (change.origin === 'initial') continue
        mirror.meter.add(change.origin === 'watch' ? mirror.rows.status.lagMs : undefined)
        lines.add(systemClock.now(), change, nameAmong(mirrors, mirror), isContinued)
        isContinued = mirrors.length > 1
      }
    }
  }
}

function pictureOf({ rows, open, meter, unnamed, hint }: Shown, { index }: WatchFlags): string[] {
  const things = objectNoun(open.kind)
  return [
    ...statusLines(open.source.name, rows.status, [things, rows.size], meter),
    ...index.flatMap((column) => topValues(column, rows.by[column])),
    ...undecoded(rows, things, unnamed()).map(colors.yellow),
    ...[hint() ?? []].flat().map(colors.yellow),
  ]
}

function lineOf(mirrors: readonly Mirror[], mirror: Shown): string {
  const { rows, open, meter } = mirror
  const { state, relists, reconnects } = rows.status
  const name = nameAmong(mirrors, mirror)
  const bad = rows.invalid.size === 0 ? '' : `, ${rows.invalid.size} cannot be decoded`
  return `${name === undefined ? '' : `${withoutControls(name)} `}${state}: ${rows.size} ${objectNoun(open.kind)}, ${meter.rate} changes/s, ${relists} relists, ${reconnects} reconnects${bad}`
}

/** The number of undecodable objects, the error of the first one, and the newest error of an object without a key. */
function undecoded({ invalid }: Informer<Row, Indexes>, things: string, unnamed: string | undefined): string[] {
  const [first] = invalid.values()
  return [
    ...(first === undefined ? [] : [`${thousands(invalid.size)} ${things} cannot be decoded`, oneLine(first)]),
    ...(unnamed === undefined ? [] : [unnamed]),
  ]
}

function topValues(column: string, index: Equal<Row, Scalar> | undefined): string[] {
  const values = [...(index?.values() ?? [])].map((value) => [String(value), index?.count(value) ?? 0] as const)
  const top = values.sort((a, b) => b[1] - a[1]).slice(0, 5)
  return wrapParts([colors.dim(`by ${column}`), ...top.map(([value, count]) => labelled(value, thousands(count)))])
}

/** An array has one value for each element. Values that are not scalars are skipped. */
function valuesOf(row: Row, column: string): Scalar[] {
  const values: unknown[] = [fieldOf(row, column)].flat()
  return values.filter(isScalar)
}

function isScalar(value: unknown): value is Scalar {
  return value instanceof Date || ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

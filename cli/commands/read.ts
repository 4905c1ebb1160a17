import { createInformer } from '../../src/informer/create-informer.js'
import { fieldOf, jsonText, printable, shownValue, textOf } from '../args/fields.js'
import type { Condition } from '../args/parsers.js'
import type { SourceKind } from '../args/source-kinds.js'
import { type Command, colors } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import { awaitFirstList, reportErrors } from '../output/first-list.js'
import { ProgressLine } from '../output/progress-line.js'
import { thousands, withoutControls } from '../output/status-view.js'
import { fitted, widthOf } from '../output/text-width.js'
import { writeAll } from '../output/write-all.js'
import { INTERRUPTED, shutdownSignal } from '../shutdown-signal.js'
import { openSource, type SourceFlags } from '../sources/open-source.js'
import type { OpenSource, Row } from '../sources/source-types.js'

export interface ReadFlags extends SourceFlags {
  readonly json?: boolean
  readonly limit?: number
}

const SHOWN_FIELDS = 12

type Entry = readonly [key: string, object: Row]

/** Prints one object. The exit code is 1 if the source has none with this key. */
export async function get(url: string, key: string, flags: ReadFlags, command: Command): Promise<void> {
  await read(url, flags, command, async (entries, format, of) => {
    const found = entries.find(([each]) => each === key)
    if (found === undefined) throw new CliError(`${of} has no object with the key "${key}"`, 1)
    await writeAll([format.isTable ? indented(found, format) : jsonLine(found, format)], format.signal)
  })
}

export async function list(url: string, flags: ReadFlags, command: Command): Promise<void> {
  await read(url, flags, command, (entries, format) => printObjects(entries.slice(0, flags.limit), format))
}

export async function query(
  url: string,
  { where, ...flags }: Omit<ReadFlags, 'where'> & { readonly where: readonly Condition[] },
  command: Command,
): Promise<void> {
  const source = { ...flags, compared: where.map(({ field }) => field) } // So that columns of Postgres are checked.
  await read(url, source, command, (entries, format) => {
    const matching = entries.filter(([, object]) => where.every((condition) => meets(object, condition)))
    if (matching.length === 0 && entries.length > 0)
      process.stderr.write(`listwatch: none of ${thousands(entries.length)} objects meets the conditions\n`)
    return printObjects(matching.slice(0, flags.limit), format)
  })
}

async function read(
  url: string,
  flags: ReadFlags,
  command: Command,
  print: (entries: readonly Entry[], format: ObjectFormat, of: string) => Promise<void>,
): Promise<void> {
  using shutdown = shutdownSignal(INTERRUPTED)
  const { signal } = shutdown
  using open = await openSource(url, flags, command)
  using progress = new ProgressLine(`reading ${open.of}`)
  await using rows = createInformer({ source: progress.counted(open.source), audit: false, freeze: false })
  reportErrors(rows, open, false)
  await awaitFirstList(rows, open, signal)
  progress[Symbol.dispose]()
  if (signal.aborted) return
  await rows.stop() // So that nothing changes while it is printed.
  const entries = [...rows.entries()]
  const hint = rows.invalid.size > 0 ? undecodedHint(rows.invalid.size, open) : open.ifEmpty
  if (entries.length === 0 && hint !== undefined) process.stderr.write(`listwatch: ${hint}\n`)
  const isTable = process.stdout.isTTY && flags.json !== true
  await print(entries, { isTable, fields: flags.fields, kind: open.kind, signal }, open.of)
  // The columns of Postgres are checked already, and a path into JSON is often optional.
  if (!signal.aborted && open.kind !== 'postgres')
    warnOfMissingFields(entries, [...(flags.fields ?? []), ...(flags.compared ?? [])])
  // Without one of the objects the output would look complete.
  if (rows.invalid.size > 0) process.exitCode = 1
}

function undecodedHint(count: number, { kind }: OpenSource): string {
  const advice =
    kind === 'redis' || kind === 'etcd' || kind === 'nats' ? '; --codec string shows values that are not JSON' : ''
  return `${count} ${count === 1 ? 'object was' : 'objects were'} read, and none can be decoded${advice}`
}

/** Prints a hint for each field that no object has: most likely its name is misspelt. */
function warnOfMissingFields(entries: readonly Entry[], paths: readonly string[]): void {
  const [first] = entries
  if (first === undefined) return
  const names = hasFields(first[1]) ? Object.keys(first[1]).slice(0, SHOWN_FIELDS) : []
  const known = names.length === 0 ? '' : `; the first one has ${names.join(', ')}`
  for (const path of new Set(paths)) {
    const isMissing = entries.every(([, object]) => fieldOf(object, path) === undefined)
    if (isMissing) process.stderr.write(`listwatch: ${oneLine(`no object has the field "${path}"${known}`)}\n`)
  }
}

/** A value of a key may be anything that its codec decodes. */
function hasFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value)
}

function meets(object: Row, { field, isNegated, value }: Condition): boolean {
  const values: unknown[] = [fieldOf(object, field)].flat()
  return values.some((each) => each !== undefined && each !== null && textOf(each) === value) !== isNegated
}

interface ObjectFormat {
  readonly isTable: boolean
  /** The printed fields; undefined for all, of which a table shows those with short values. */
  readonly fields: readonly string[] | undefined
  readonly kind: SourceKind
  readonly signal: AbortSignal
}

/** The columns and their widths are those of the first objects. */
const SAMPLE = 1_000
const MAX_COLUMNS = 12
const MAX_COLUMN_WIDTH = 40

/** The fields that a table shows of an object of Kubernetes. Not all resources have them. */
const KUBERNETES_FIELDS = ['status.phase', 'spec.nodeName', 'spec.replicas', 'metadata.creationTimestamp']

/** Control characters other than line breaks are replaced, because a terminal would obey them. */
function indented(entry: Entry, format: ObjectFormat): string {
  return `${JSON.stringify(selected(entry, format), printable, 2).replace(/[^\P{Cc}\n]/gu, '�')}\n`
}

/** Prints a table on a terminal, else one line of JSON for each object. Waits for the reader of the output. */
async function printObjects(entries: readonly Entry[], format: ObjectFormat): Promise<void> {
  const lines = format.isTable ? tableLines(entries, format) : entries.values().map((each) => jsonLine(each, format))
  await writeAll(lines, format.signal)
}

function jsonLine(entry: Entry, format: ObjectFormat): string {
  return `${jsonText({ key: entry[0], object: selected(entry, format) })}\n`
}

function selected([, object]: Entry, { fields }: ObjectFormat): unknown {
  return fields === undefined ? object : Object.fromEntries(fields.map((path) => [path, fieldOf(object, path)]))
}

function* tableLines(entries: readonly Entry[], format: ObjectFormat): Generator<string> {
  if (entries.length === 0) return // Headings alone look like a lost result.
  const sample = entries.slice(0, SAMPLE)
  const paths = format.fields ?? defaultFields(sample, format.kind)
  const cellsOf = ([key, object]: Entry): string[] => [
    withoutControls(key),
    ...paths.map((path) => withoutControls(shownValue(path === '' ? object : fieldOf(object, path)))),
  ]
  const header = ['KEY', ...paths.map((path) => (path === '' ? 'VALUE' : withoutControls(path).toUpperCase()))]
  const widths = header.map((title) => widthOf(title))
  for (const entry of sample)
    for (const [at, cell] of cellsOf(entry).entries())
      widths[at] = Math.max(widths[at] ?? 0, Math.min(MAX_COLUMN_WIDTH, widthOf(cell)))
  const columns = process.stdout.columns || 80
  const line = (cells: readonly string[]): string =>
    fitted(
      cells
        .map((cell, at) => padded(cell, widths[at] ?? 0))
        .join('  ')
        .trimEnd(),
      columns,
    )
  yield `${colors.bold(line(header))}\n`
  for (const entry of entries) yield `${line(cellsOf(entry))}\n`
}

/** The key is never cut, because it is what other commands need. */
function padded(cell: string, width: number): string {
  const shown = fitted(cell, Math.max(width, MAX_COLUMN_WIDTH))
  return shown + ' '.repeat(Math.max(0, width - widthOf(shown)))
}

/** The fields with short values, in the order in which they appear. An object without fields is shown as a whole. */
function defaultFields(sample: readonly Entry[], kind: SourceKind): string[] {
  if (kind === 'kubernetes')
    return KUBERNETES_FIELDS.filter((path) => sample.some(([, object]) => fieldOf(object, path) !== undefined))
  const names = new Set<string>()
  for (const [, object] of sample) {
    if (typeof object !== 'object' || object === null || ArrayBuffer.isView(object)) return ['']
    for (const [name, value] of Object.entries(object))
      if (typeof value !== 'object' || value instanceof Date) names.add(name)
  }
  return [...names].slice(0, MAX_COLUMNS)
}

import { fieldOf, jsonText, printable, shownValue } from '../args/fields.js'
import type { SourceKind } from '../args/source-kinds.js'
import { colors } from '../bundled.js'
import type { Row } from '../sources/source-types.js'
import { withoutControls } from './status-view.js'
import { fitted, widthOf } from './text-width.js'
import { writeAll } from './write-all.js'

export interface ObjectFormat {
  /** Whether the output is for a terminal. */
  readonly isTable: boolean
  /** The printed fields; undefined for all, of which a table shows those with short values. */
  readonly fields: readonly string[] | undefined
  readonly kind: SourceKind
  /** Aborts the output. */
  readonly signal: AbortSignal
}

type Entry = readonly [key: string, object: Row]

/** The columns and their widths are those of the first objects. */
const SAMPLE = 1_000
const MAX_COLUMNS = 12
const MAX_COLUMN_WIDTH = 40

/** The fields that a table shows of an object of Kubernetes. Not all resources have them. */
const KUBERNETES_FIELDS = ['status.phase', 'spec.nodeName', 'spec.replicas', 'metadata.creationTimestamp']

/** Prints one object: indented JSON on a terminal, else one line. */
export async function printObject(entry: Entry, format: ObjectFormat): Promise<void> {
  if (!format.isTable) await writeAll([jsonLine(entry, format)], format.signal)
  else await writeAll([indented(entry, format)], format.signal)
}

/** Control characters other than line breaks are replaced, because a terminal would obey them. */
function indented(entry: Entry, format: ObjectFormat): string {
  return `${JSON.stringify(selected(entry, format), printable, 2).replace(/[^\P{Cc}\n]/gu, '�')}\n`
}

/** Prints a table on a terminal, else one line of JSON for each object. Waits for the reader of the output. */
export async function printObjects(entries: readonly Entry[], format: ObjectFormat): Promise<void> {
  const lines = format.isTable ? tableLines(entries, format) : jsonLines(entries, format)
  await writeAll(lines, format.signal)
}

function* jsonLines(entries: readonly Entry[], format: ObjectFormat): Generator<string> {
  for (const entry of entries) yield jsonLine(entry, format)
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

import { createInformer } from '../../src/informer/create-informer.js'
import { fieldOf, textOf } from '../args/fields.js'
import type { Condition } from '../args/parsers.js'
import type { Command } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import { oneLine } from '../output/error-hints.js'
import { awaitFirstList, reportErrors } from '../output/first-list.js'
import { ListProgress } from '../output/list-progress.js'
import { type ObjectFormat, printObject, printObjects } from '../output/object-printer.js'
import { thousands } from '../output/status-view.js'
import { exitInterrupted, forceExit, shutdownSignal } from '../shutdown-signal.js'
import { openSource, type SourceFlags } from '../sources/open-source.js'
import type { OpenSource, Row } from '../sources/source-types.js'

export interface ReadFlags extends SourceFlags {
  readonly json?: boolean
  readonly limit?: number
}

/** A hint names at most this many fields. */
const SHOWN_FIELDS = 12

type Entry = readonly [key: string, object: Row]

/** Prints one object. The exit code is 1 if the source has none with this key. */
export async function get(url: string, key: string, flags: ReadFlags, command: Command): Promise<void> {
  await read(url, flags, command, async (entries, format, of) => {
    const found = entries.find(([each]) => each === key)
    if (found === undefined) throw new CliError(`${of} has no object with the key "${key}"`, 1)
    await printObject(found, format)
  })
}

/** Prints all objects. */
export async function list(url: string, flags: ReadFlags, command: Command): Promise<void> {
  await read(url, flags, command, (entries, format) => printObjects(entries.slice(0, flags.limit), format))
}

/** Prints the objects that meet all conditions. */
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

/** Reads the source once, and prints the result. */
async function read(
  url: string,
  flags: ReadFlags,
  command: Command,
  print: (entries: readonly Entry[], format: ObjectFormat, of: string) => Promise<void>,
): Promise<void> {
  const shutdown = shutdownSignal()
  const open = await openSource(url, flags, command)
  using progress = new ListProgress(`reading ${open.of}`)
  const rows = createInformer({ source: progress.counted(open.source), audit: false, freeze: false })
  try {
    reportErrors(rows, open, false)
    await awaitFirstList(rows, open, shutdown.signal)
    progress[Symbol.dispose]()
    if (shutdown.signal.aborted) return
    await rows.stop() // So that nothing changes while it is printed.
    const entries = [...rows.entries()]
    const hint = rows.invalid.size > 0 ? undecodedHint(rows.invalid.size, open) : open.ifEmpty
    if (entries.length === 0 && hint !== undefined) process.stderr.write(`listwatch: ${hint}\n`)
    const isTable = process.stdout.isTTY && flags.json !== true
    const format = { isTable, fields: flags.fields, kind: open.kind, signal: shutdown.signal }
    await print(entries, format, open.of)
    // The columns of Postgres are checked already, and a path into JSON is often optional.
    if (!shutdown.signal.aborted && open.kind !== 'postgres')
      warnOfMissingFields(entries, [...(flags.fields ?? []), ...(flags.compared ?? [])])
    // Without one of the objects the output would look complete.
    if (rows.invalid.size > 0) process.exitCode = 1
  } finally {
    await rows.stop()
    open.close()
    forceExit(shutdown)
    exitInterrupted(shutdown)
  }
}

/** The hint if no object can be decoded. */
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

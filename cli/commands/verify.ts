import { systemClock } from '../../src/contract/clock.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { formatDuration, parseDuration } from '../args/duration.js'
import { jsonText } from '../args/fields.js'
import { objectNoun } from '../args/source-kinds.js'
import { type Command, colors } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import { awaitFirstList, reportErrors } from '../output/first-list.js'
import { ProgressLine } from '../output/progress-line.js'
import { thousands, withoutControls } from '../output/status-view.js'
import { INTERRUPTED, shutdownSignal } from '../shutdown-signal.js'
import { openSource, type SourceFlags } from '../sources/open-source.js'
import type { OpenSource, Row } from '../sources/source-types.js'
import { type Comparison, compareMirror, type Difference, type Mirror } from '../verify/compare-mirror.js'
import { inspectedMirror } from '../verify/inspected-mirror.js'
import { localMirror } from '../verify/local-mirror.js'

export interface VerifyFlags extends SourceFlags {
  readonly for?: string
  readonly against?: string
  readonly informer?: string
  readonly keysOnly?: boolean
  readonly limit?: number
  readonly json?: boolean
}

/** Compares a mirror with a new list of its source. The exit code is 1 if an object differs. */
export async function verify(url: string, flags: VerifyFlags, command: Command): Promise<void> {
  const { against: address, informer, keysOnly = false, limit = 10 } = flags
  if (address === undefined && (informer !== undefined || keysOnly))
    throw new CliError('--informer and --keys-only need --against')
  const forMs = parseDuration(flags.for ?? '10s', '--for')
  using shutdown = shutdownSignal(INTERRUPTED)
  const { signal } = shutdown
  using open = await openSource(url, flags, command)
  using progress = new ProgressLine(`reading ${open.of}`)
  const compare = async (mirror: Mirror): Promise<void> => {
    progress.begin(`comparing ${open.of}`)
    const readFresh = (): Promise<Informer<Row>> => readSource(url, flags, command, { signal, progress })
    const comparison = await compareMirror({ mirror, source: open.source, readFresh, limit, signal })
    progress[Symbol.dispose]()
    print(comparison, open, flags)
    if (comparison.isEmpty && open.ifEmpty !== undefined) process.stderr.write(`listwatch: ${open.ifEmpty}\n`)
    if (comparison.differing > 0) process.exitCode = 1
  }
  try {
    if (address !== undefined) return await compare(inspectedMirror({ address, informer, keysOnly, signal }))
    await using rows = mirrorOf(open, progress)
    reportErrors(rows, open, false)
    await awaitFirstList(rows, open, signal)
    progress.begin(`following ${open.of} for ${formatDuration(forMs)}`)
    await systemClock.sleep(forMs, signal)
    await compare(localMirror(rows, signal))
  } catch (error) {
    if (!signal.aborted) throw error
  }
}

/** Without audits, which would repair what is to be found. */
function mirrorOf({ source }: OpenSource, progress: ProgressLine): Informer<Row> {
  return createInformer({ source: progress.counted(source), audit: false, freeze: false })
}

/** Lists the source over its own connection. The result does not change any more. */
async function readSource(
  url: string,
  flags: VerifyFlags,
  command: Command,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: ProgressLine },
): Promise<Informer<Row>> {
  using open = await openSource(url, flags, command)
  await using rows = mirrorOf(open, progress)
  rows.on('error', () => {}) // The mirror reports the same objects.
  await awaitFirstList(rows, open, signal)
  signal.throwIfAborted()
  return rows
}

function print(comparison: Comparison, { kind }: OpenSource, { json }: VerifyFlags): void {
  const { version, otherSource, objects, differing, differences, busy } = comparison
  if (json === true) {
    process.stdout.write(`${jsonText({ equal: differing === 0, version, objects, differing, busy, differences })}\n`)
    return
  }
  const things = objectNoun(kind)
  for (const each of differences) process.stdout.write(`${lineOf(each)}\n`)
  if (differences.length < differing)
    process.stdout.write(colors.dim(`… ${thousands(differing - differences.length)} more\n`))
  const result = `${thousands(objects)} ${things} compared, ${thousands(differing)} differ`
  const left = busy === 0 ? '' : `, ${thousands(busy)} changed during each comparison`
  process.stdout.write(`${differing === 0 ? colors.green(result) : colors.red(result)}${left}\n`)
  if (differing > 0 && otherSource !== undefined) process.stdout.write(`${otherSource}\n`)
}

function lineOf({ key, difference, fields = [] }: Difference): string {
  const details = {
    missing: 'the source has it, the mirror does not',
    extra: 'the mirror has it, the source does not',
    different: withoutControls(fields.filter((path) => path !== '').join(', ')),
  }[difference]
  const line = `${colors.red(difference)} ${colors.bold(withoutControls(key))}`
  return details === '' ? line : `${line}: ${details}`
}

import { systemClock } from '../../src/contract/clock.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { parseDuration } from '../args/duration.js'
import { objectNoun } from '../args/source-kinds.js'
import { type Command, colors } from '../bundled.js'
import { awaitFirstList, reportErrors } from '../output/first-list.js'
import { thousands, withoutControls } from '../output/status-view.js'
import { exitInterrupted, forceExit, shutdownSignal } from '../shutdown-signal.js'
import { openSource, type SourceFlags } from '../sources/open-source.js'
import type { OpenSource, Row } from '../sources/source-types.js'
import { type Comparison, compareMirror, type Difference } from '../verify/compare-mirror.js'

export interface VerifyFlags extends SourceFlags {
  readonly for?: string
  readonly limit?: number
  readonly json?: boolean
}

/** Mirrors a source, lists it again, and compares both. The exit code is 1 if an object differs. */
export async function verify(url: string, flags: VerifyFlags, command: Command): Promise<void> {
  const forMs = parseDuration(flags.for ?? '10s', '--for')
  const shutdown = shutdownSignal()
  const { signal } = shutdown
  const open = await openSource(url, flags, command)
  const rows = mirrorOf(open)
  try {
    reportErrors(rows, open, false)
    await awaitFirstList(rows, open, signal)
    await systemClock.sleep(forMs, signal)
    const comparison = await compareMirror(rows, open.source, () => readFresh(url, flags, command, signal), signal)
    print(comparison, open, flags)
    if (comparison.differences.length > 0) process.exitCode = 1
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await rows.stop()
    open.close()
    forceExit(shutdown)
    exitInterrupted(shutdown)
  }
}

/** Without audits, which would repair what is to be found. */
function mirrorOf({ source }: OpenSource): Informer<Row> {
  return createInformer({ source, audit: false, freeze: false })
}

/** Lists the source over its own connection. The result does not change any more. */
async function readFresh(
  url: string,
  flags: VerifyFlags,
  command: Command,
  signal: AbortSignal,
): Promise<Informer<Row>> {
  const open = await openSource(url, flags, command)
  const rows = mirrorOf(open)
  try {
    rows.on('error', () => {}) // The mirror reports the same objects.
    await awaitFirstList(rows, open, signal)
    signal.throwIfAborted()
    return rows
  } finally {
    await rows.stop()
    open.close()
  }
}

function print(comparison: Comparison, { kind }: OpenSource, { limit = 10, json }: VerifyFlags): void {
  const { version, objects, differences, busy } = comparison
  const named = differences.slice(0, limit)
  if (json === true) {
    const result = { equal: differences.length === 0, version, objects, differing: differences.length, busy }
    process.stdout.write(`${JSON.stringify({ ...result, differences: named })}\n`)
    return
  }
  const things = objectNoun(kind)
  for (const each of named) process.stdout.write(`${lineOf(each)}\n`)
  if (named.length < differences.length)
    process.stdout.write(colors.dim(`… ${thousands(differences.length - named.length)} more\n`))
  const result = `${thousands(objects)} ${things} compared, ${thousands(differences.length)} differ`
  const left = busy === 0 ? '' : `, ${thousands(busy)} changed during each comparison`
  process.stdout.write(`${differences.length === 0 ? colors.green(result) : colors.red(result)}${left}\n`)
}

function lineOf({ key, difference, fields = [] }: Difference): string {
  const name = colors.bold(withoutControls(key))
  switch (difference) {
    case 'missing':
      return `${colors.red('missing')} ${name}: the source has it, the mirror does not`
    case 'extra':
      return `${colors.red('extra')} ${name}: the mirror has it, the source does not`
    case 'different': {
      const where = fields.filter((path) => path !== '')
      return `${colors.red('different')} ${name}${where.length === 0 ? '' : `: ${withoutControls(where.join(', '))}`}`
    }
  }
}

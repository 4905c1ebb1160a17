import { serveInspector } from '../../inspector/index.js'
import { systemClock } from '../../src/contract/clock.js'
import { messageOf } from '../../src/contract/errors.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Command } from '../bundled.js'
import { CliError } from '../output/cli-error.js'
import { awaitFirstList, reportErrors } from '../output/first-list.js'
import { sleepUnlessAborted } from '../output/terminal-ui.js'
import { durationOf, indexesOf } from '../output/watch-runner.js'
import { forceExit, shutDownAfter, shutdownSignal } from '../shutdown-signal.js'
import { openSource, type SourceFlags } from '../sources/open-source.js'

export interface ServeFlags {
  readonly index: readonly string[]
  readonly port?: number
  readonly showSecrets?: boolean
  readonly for?: string
}

/** Mirrors a source, and serves the page of the inspector until it is interrupted. */
export async function serve(url: string, flags: ServeFlags & SourceFlags, command: Command): Promise<void> {
  const forMs = durationOf(flags) // It is checked before anything is opened.
  const open = await openSource(url, flags, command)
  const shutdown = shutdownSignal()
  const rows = createInformer({ source: open.source, indexes: indexesOf(flags.index) })
  try {
    const { port, showSecrets } = flags
    await using inspector = await serveInspector([rows], { port, showSecrets }).catch((error: unknown) => {
      throw new CliError(`cannot serve the page: ${messageOf(error)}`)
    })
    process.stdout.write(`${inspector.url}\n`)
    reportErrors(rows, open, false)
    await awaitFirstList(rows, open, shutdown.signal)
    shutDownAfter(forMs, shutdown)
    await sleepUnlessAborted(Number.MAX_SAFE_INTEGER, systemClock, shutdown.signal)
  } finally {
    await rows.stop()
    open.close()
    forceExit(shutdown)
  }
}

import type { Command } from '../bundled.js'
import { durationOf, runWatch, type WatchFlags } from '../output/watch-runner.js'
import { openSource, type SourceFlags } from '../sources/open-source.js'

/** Mirrors a source, and prints its changes. */
export async function watch(url: string, flags: WatchFlags & SourceFlags, command: Command): Promise<void> {
  durationOf(flags) // It is checked before anything is opened.
  const open = await openSource(url, flags, command)
  try {
    await runWatch(open, flags)
  } finally {
    open.close()
  }
}

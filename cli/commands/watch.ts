import type { Command } from '../bundled.js'
import { durationOf, runWatch, type WatchFlags } from '../output/watch-runner.js'
import { openSources, type SourceFlags } from '../sources/open-source.js'

export async function watch(url: string, flags: WatchFlags & SourceFlags, command: Command): Promise<void> {
  durationOf(flags) // It is checked before anything is opened.
  const opened = await openSources(url, flags, command)
  try {
    await runWatch(opened, flags)
  } finally {
    for (const open of opened) open.close()
  }
}

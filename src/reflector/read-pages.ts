import { SourceError } from '../contract/errors.js'
import { LIST_STALL_MS } from '../contract/source.js'
import { assertVersion, type Version } from '../contract/version.js'
import type { Attempt } from './attempt.js'
import { close, iterated } from './source-checks.js'

/** A source that has yielded more empty pages in a row does not come to an end. */
const MAX_EMPTY_PAGES = 100_000

interface Page {
  readonly version?: Version
  readonly events?: readonly unknown[]
  readonly keys?: readonly unknown[]
}

interface PageReader<P> {
  readonly call: string
  open(): AsyncIterable<P>
  /** Called when a page has arrived, before `take`. */
  contact(): void
  take(page: P): Promise<void>
  /** Called at the end with a promise that resolves when the source has closed the list. */
  ended(closing: Promise<void>): void
}

/**
 * Reads a whole list in pages. Returns its version, which is the last one that a page has. Aborts the attempt with
 * `UNAVAILABLE` if no page arrives in time; `attempt.recordActivity` restarts that time.
 */
export async function readPages<P extends Page>(attempt: Attempt, reader: PageReader<P>): Promise<Version> {
  const silent = `no page for ${LIST_STALL_MS / 1_000} s`
  void attempt.watchdog(LIST_STALL_MS, () => new SourceError(silent, { code: 'UNAVAILABLE' }))
  let pages: AsyncIterator<P> | undefined
  let version: Version | undefined
  let emptyPages = 0
  try {
    pages = iterated(reader.call, reader.open())
    for (;;) {
      const page = await attempt.race(pages.next())
      attempt.throwIfAborted()
      if (page.done) break
      reader.contact()
      version = page.value.version ?? version
      await reader.take(page.value)
      const { events, keys = events } = page.value
      emptyPages = keys?.length === 0 ? emptyPages + 1 : 0
      if (emptyPages > MAX_EMPTY_PAGES)
        throw new SourceError(`the list has ${emptyPages} empty pages in a row`, { code: 'PROTOCOL' })
      if (emptyPages > 0) await attempt.yieldIfDue()
    }
  } finally {
    reader.ended(close(pages))
  }
  assertVersion(version, 'the version of the list')
  return version
}

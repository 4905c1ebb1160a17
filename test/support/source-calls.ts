import { type ListContext, systemClock, type WatchContext } from '../../src/adapter.js'
import type { ListerWatcher, SourceError, Version } from '../../src/index.js'

/** The context of a call of a source outside of an informer. */
export function context(
  signal: AbortSignal = new AbortController().signal,
): Omit<WatchContext, 'after' | 'onProgressRequest'> {
  return { signal, clock: systemClock, random: { next: () => 0.5 } }
}

export interface Listed<T> {
  readonly objects: ReadonlyMap<string, T>
  readonly invalid: readonly string[]
  readonly version: Version
}

/** Reads a whole list. */
export async function listed<T>(
  source: ListerWatcher<T>,
  pageSize = 1_000,
  more: Pick<ListContext, 'floor'> = {},
): Promise<Listed<T>> {
  const objects = new Map<string, T>()
  const invalid: string[] = []
  let version = ''
  for await (const page of source.list({ ...context(), ...more, pageSize })) {
    for (const event of page.events) {
      if (event.type === 'put') objects.set(event.key, event.object)
      else if (event.type === 'delete') objects.delete(event.key)
      else invalid.push(event.key ?? '')
    }
    version = page.version ?? version
  }
  return { objects, invalid, version }
}

/** The error of a list. Its message is one line. */
export async function refusal(source: ListerWatcher<unknown>): Promise<SourceError> {
  return await listed(source).then(
    () => {
      throw new Error('it was listed')
    },
    (error: SourceError) => {
      if (/[\r\n]/.test(error.message)) throw new Error(`more than one line: ${JSON.stringify(error.message)}`)
      return error
    },
  )
}

import type { ListContext, ListerWatcher, VersionPage } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type {
  ConformanceChange,
  ConformanceOptions,
  ListerWatcherHarness,
  ListerWatcherSubject,
  MemorySource,
} from '../../testing/index.js'
import { memorySource } from '../../testing/index.js'

export type Item = { readonly value: string }

export interface MemorySubject extends ListerWatcherSubject<Item> {
  readonly memory: MemorySource<Item>
  readonly source: MemorySource<Item> & Required<Pick<ListerWatcher<Item>, 'versions'>>
}

/** With `settled`, a write returns after that: a mirror that is the subject itself has the write then. */
export function memorySubject({ heartbeatMs }: ConformanceOptions, settled?: () => Promise<unknown>): MemorySubject {
  const memory = memorySource<Item>({ heartbeatMs })
  const objects = new Map<string, Item>()
  const commit = (changes: readonly ConformanceChange[]): Version =>
    memory.transaction((tx) => {
      for (const { key, value } of changes) {
        if (value === undefined) {
          objects.delete(key)
          tx.delete(key)
        } else {
          objects.set(key, { value })
          tx.put(key, { value })
        }
      }
    })
  const write = async (changes: readonly ConformanceChange[]): Promise<Version> => {
    const version = commit(changes)
    await settled?.()
    return version
  }
  return {
    memory,
    source: Object.assign(memory, { versions: (context: ListContext) => versionsOf(memory, context) }),
    read: ({ value }) => value,
    write,
    begin: (changes) => () => write(changes),
    compact: () => memory.compact(),
    restore: () => void memory.restore(objects),
    corrupt: (key) => void memory.corrupt(key, new SyntaxError('it cannot be decoded')),
    disconnect: () => memory.disconnect(),
  }
}

/** The real memory source has no versions(). This one exists for its cases. */
async function* versionsOf(memory: MemorySource<Item>, context: ListContext): AsyncIterable<VersionPage> {
  for await (const { events, ...page } of memory.list(context))
    yield { ...page, keys: events.map(({ key = '', version = '' }) => ({ key, version })) }
}

export const memoryHarness: ListerWatcherHarness<Item> = {
  create: memorySubject,
  unsupported: { connections: 'it opens nothing' },
}

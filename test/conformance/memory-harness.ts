import type {
  ConformanceWish,
  ListerWatcherHarness,
  ListerWatcherSubject,
  MemorySource,
} from '../../src/testing/index.js'
import { memorySource } from '../../src/testing/index.js'

export interface Item {
  readonly value: string
}

/** The memory source, and who writes to it. */
export interface MemorySubject extends ListerWatcherSubject<Item> {
  readonly memory: MemorySource<Item>
}

export function memorySubject({ heartbeatMs }: ConformanceWish): MemorySubject {
  const memory = memorySource<Item>({ heartbeatMs })
  const objects = new Map<string, Item>()
  return {
    memory,
    source: memory,
    read: ({ value }) => value,
    write: (changes) =>
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
      }),
    compact: () => memory.compact(),
    restore: () => void memory.restore(objects),
    corrupt: (key) => void memory.corrupt(key, new SyntaxError('it cannot be decoded')),
    disconnect: () => memory.disconnect(),
  }
}

export const memoryHarness: ListerWatcherHarness<Item> = {
  create: memorySubject,
  lacks: { connections: 'it opens nothing' },
}

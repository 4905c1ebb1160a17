import type { WatchBatch, WatchEvent } from '../../src/contract/source.js'
import { type Broken, fromNow, sequenceOf, shifted, type Watches } from './broken.js'
import type { Item } from './memory-harness.js'

export const brokenWatches: readonly Broken[] = [
  {
    name: 'drops deletes',
    failedCases: ['a watch delivers adds, updates and deletes in order'],
    because: /"a" should not be there/,
    events: (event) => (event.type === 'delete' ? undefined : event),
  },
  {
    name: 'watches from the current version instead of the version of the list',
    failedCases: [
      'a watch resumes at the version of the list: writes during the list are not lost',
      'a resumed watch delivers the deletes that were missed',
    ],
    because: /waiting for the written values/,
    watch: fromNow,
  },
  {
    name: 'splits a transaction',
    failedCases: [
      'a watch delivers a transaction atomically',
      'lists and a watch show the transactions of each writer whole and in order',
    ],
    because: /shows a state that never existed|a transaction is torn/,
    watch: splitting(2),
  },
  {
    name: 'splits a long transaction',
    failedCases: ['a watch delivers a transaction of 1 000 objects atomically'],
    because: /shows a state that never existed/,
    watch: splitting(500),
  },
  {
    name: 'orders transactions by their beginning',
    failedCases: ['a watch delivers a transaction that was open while others were committed'],
    because: /"k0" is "v0" instead of "late"/,
    flaw: ({ write }) => {
      const passed = new Set<string>()
      return {
        batches: (batch) => [passed.has(batch.version) ? { ...batch, events: [] } : batch],
        subject: {
          begin: (changes) => async () => {
            const version = await write(changes)
            passed.add(version ?? '')
            return version
          },
        },
      }
    },
  },
  {
    name: 'delivers the deletes of a transaction before its writes',
    failedCases: ['a watch delivers the final state of a key that a transaction writes several times'],
    because: /"gone" should not be there/,
    batches: (batch) => {
      const isDelete = ({ type }: WatchEvent<Item>): boolean => type === 'delete'
      const others = batch.events.filter((event) => !isDelete(event))
      return [{ ...batch, events: [...batch.events.filter(isDelete), ...others] }]
    },
  },
  {
    name: 'delivers one batch out of order',
    failedCases: ['a watch never returns a key to an older value, even if it is written fast'],
    because: /went back from/,
    flaw: () => {
      let held: WatchBatch<Item> | undefined
      return {
        batches: (batch, number) => {
          if (number === 20) {
            held = batch
            return []
          }
          const late = held === undefined ? [] : [held]
          held = undefined
          return [batch, ...late]
        },
      }
    },
  },
  {
    name: 'resumes one version too early',
    failedCases: ['a watch does not repeat the events of the list before it'],
    because: /repeated an event that is not later/,
    watch: (memory, context) => memory.watch({ ...context, after: shifted(context.after, -1) }),
  },
  {
    name: 'resumes one version too late',
    failedCases: ['a watch resumed at the version of any batch loses nothing'],
    because: /the watch that was resumed at .* shows a state|waiting for the written values/,
    async *watch(memory, context) {
      const isBehind = sequenceOf(context.after) > 2 && context.after !== (await memory.head())
      yield* memory.watch({ ...context, after: shifted(context.after, isBehind ? 1 : 0) })
    },
  },
  {
    name: 'reads ahead of a slow reader',
    failedCases: ['a watch buffers little for a reader that does not read, even if much is written'],
    because: /2\d MiB are buffered for a reader that does not read; 25 MiB were written/,
    watch: ahead,
  },
  {
    name: 'drops batches of a slow reader',
    failedCases: ['a watch waits for a slow reader and loses no change'],
    because: /shows a state that never existed|waiting for the written values/,
    async *watch(memory, context) {
      const buffer: WatchBatch<Item>[] = []
      const pump = (async () => {
        for await (const batch of memory.watch(context)) buffer.splice(0, Math.max(0, buffer.push(batch) - 100))
      })()
      pump.catch(() => {})
      for (;;) {
        const next = buffer.shift()
        if (next !== undefined) yield next
        else await context.clock.sleep(1, context.signal)
      }
    },
  },
  {
    name: 'delivers each batch to only one of its watches',
    failedCases: ['watches are independent: each receives every change at its own pace, even after another ends'],
    because: /waiting for the written values/,
    flaw: () => {
      const taken = new Set<string>()
      return {
        batches: (batch) => {
          if (batch.events.length === 0) return [batch]
          if (taken.has(batch.version)) return []
          taken.add(batch.version)
          return [batch]
        },
      }
    },
  },
  {
    name: 'sends no heartbeats',
    failedCases: ['a watch yields a batch at least every heartbeatMs, even if nothing changes'],
    because: /waiting for heartbeat/,
    batches: (batch, number) => (number > 0 && batch.events.length === 0 ? [] : [batch]),
  },
  {
    name: 'does not answer a progress request',
    failedCases: ['a watch answers a progress request with a bookmark'],
    because: /waiting for the answer to a progress request/,
    watch: (memory, context) => {
      context.onProgressRequest(() => {})
      return memory.watch({ ...context, onProgressRequest: () => {} })
    },
  },
  {
    name: 'sends bookmarks before the changes they include',
    failedCases: [
      'a watch resumed at the version of any batch loses nothing',
      'the version of a bookmark proves that all earlier changes were delivered',
    ],
    because: /waiting for the written values/,
    batches: (batch) => (batch.events.length === 0 ? [batch] : [{ ...batch, events: [] }, batch]),
  },
  {
    name: 'has no deletes in its history',
    failedCases: ['a resumed watch delivers the deletes that were missed'],
    because: /"k4" should not be there/,
    async *watch(memory, context) {
      const head = await memory.head()
      for await (const batch of memory.watch(context)) {
        const isOld = memory.hasReached(head, batch.version)
        yield { ...batch, events: batch.events.filter(({ type }) => type !== 'delete' || !isOld) }
      }
    },
  },
  {
    name: 'resumes every watch from the latest requested version',
    failedCases: ['an old and a recent version can be resumed at the same time'],
    because: /waiting for the written values/,
    flaw: () => {
      let latest = ''
      return {
        async *watch(memory, context) {
          if (latest === '' || memory.hasReached(context.after, latest)) latest = context.after
          await context.clock.sleep(20)
          yield* memory.watch({ ...context, after: latest })
        },
      }
    },
  },
  {
    name: 'repeats the version of the list in every bookmark',
    failedCases: ['the versions of a watch never decrease'],
    because: /went back from/,
    batches: (batch, _, { after }) => [batch.events.length === 0 ? { ...batch, version: after } : batch],
  },
  {
    name: 'ends all watches when one is aborted',
    failedCases: ['the signal of one watch does not affect another'],
    because: /the connection was lost/,
    async *watch(memory, context) {
      const end = (): void => memory.disconnect()
      context.signal.addEventListener('abort', end, { once: true })
      yield* memory.watch(context)
    },
  },
]

function splitting(size: number): Watches {
  return async function* (memory, context) {
    let safe = context.after
    for await (const batch of memory.watch(context)) {
      for (let at = 0; at + size < batch.events.length; at += size)
        yield { events: batch.events.slice(at, at + size), version: safe }
      const rest = batch.events.length % size
      yield {
        ...batch,
        events: batch.events.slice(batch.events.length - (rest === 0 ? Math.min(size, batch.events.length) : rest)),
      }
      safe = batch.version
    }
  }
}

/** Reads all batches at once and keeps them until they are requested. */
async function* ahead(...[memory, context]: Parameters<Watches>): ReturnType<Watches> {
  const kept: WatchBatch<Item>[] = []
  let wake = (): void => {}
  const reading = (async () => {
    for await (const { events, version } of memory.watch(context)) {
      kept.push({ events: events.map(copied), version })
      wake()
    }
  })()
  reading.catch(() => {}) // It is awaited below.
  while (!context.signal.aborted) {
    const batch = kept.shift()
    if (batch !== undefined) yield batch
    else await Promise.race([reading, new Promise<void>((resolve) => (wake = resolve))])
  }
  await reading
}

function copied(event: WatchEvent<Item>): WatchEvent<Item> {
  return event.type === 'put' ? { ...event, object: { value: Buffer.from(event.object.value).toString() } } : event
}

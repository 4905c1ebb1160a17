import type { WatchBatch, WatchEvent } from '../../src/contract/source.js'
import { type Broken, batches, sequenceOf, shifted, type Watches } from './broken.js'
import type { Item } from './memory-harness.js'

export const brokenWatches: readonly Broken[] = [
  {
    name: 'drops deletes',
    refusedBy: ['a watch tells what is added, changed and deleted, in order'],
    because: /"a" should not be there/,
    flaw: (memory) => ({ watch: only(memory.watch.bind(memory), (event) => event.type !== 'delete') }),
  },
  {
    name: 'watches from now on, wherever the list was',
    refusedBy: [
      'a watch goes on where the list was: what is written while the list is read is not lost',
      'a version resumed from after deletes were missed tells the deletes',
    ],
    because: /in vain for what was written/,
    flaw: (memory) => ({
      async *watch(context) {
        yield* memory.watch({ ...context, after: await memory.head() })
      },
    }),
  },
  {
    name: 'splits a transaction',
    refusedBy: [
      'a watch tells a transaction whole or not at all',
      'a watch and a list show of each of several writers a state that it wrote, in its order',
    ],
    because: /shows a state that there was not|a transaction is torn/,
    flaw: (memory) => ({ watch: splitting(memory.watch.bind(memory), 2) }),
  },
  {
    name: 'splits a transaction that is long',
    refusedBy: ['a watch tells a transaction of 1 000 objects whole or not at all'],
    because: /shows a state that there was not/,
    flaw: (memory) => ({ watch: splitting(memory.watch.bind(memory), 500) }),
  },
  {
    name: 'gives a transaction its place when it begins',
    refusedBy: ['a watch tells a transaction that was open while others were committed'],
    because: /"k0" is "v0" instead of "late"/,
    flaw: (memory, { write }) => {
      const passed = new Set<string>()
      return {
        watch: only(memory.watch.bind(memory), ({ type }, { version }) => type === 'replace' || !passed.has(version)),
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
    name: 'tells the deletes of a transaction before its writes',
    refusedBy: ['a watch shows of a key that a transaction writes several times what it ends with'],
    because: /"gone" should not be there/,
    flaw: (memory) => ({
      watch: batches(memory, (batch) => {
        const isDelete = ({ type }: WatchEvent<Item>): boolean => type === 'delete'
        const others = batch.events.filter((event) => !isDelete(event))
        return [{ ...batch, events: [...batch.events.filter(isDelete), ...others] }]
      }),
    }),
  },
  {
    name: 'delivers now and then in another order',
    refusedBy: ['a watch never takes a key back to an older value, however fast it is written'],
    because: /went back from/,
    flaw: (memory) => {
      let held: WatchBatch<Item> | undefined
      return {
        watch: batches(memory, (batch, number) => {
          if (number === 20) {
            held = batch
            return []
          }
          const late = held === undefined ? [] : [held]
          held = undefined
          return [batch, ...late]
        }),
      }
    },
  },
  {
    name: 'resumes one too early',
    refusedBy: ['a watch of what was just listed tells nothing that the list has told'],
    because: /told again what is not later/,
    flaw: (memory) => ({ watch: (context) => memory.watch({ ...context, after: shifted(context.after, -1) }) }),
  },
  {
    name: 'resumes one too late',
    refusedBy: ['a version of any batch is safe to resume from: nothing after it is lost'],
    because: /the watch that was resumed at .* shows a state|in vain for what was written/,
    flaw: (memory) => ({
      async *watch(context) {
        const isBehind = sequenceOf(context.after) > 2 && context.after !== (await memory.head())
        yield* memory.watch({ ...context, after: shifted(context.after, isBehind ? 1 : 0) })
      },
    }),
  },
  {
    name: 'reads ahead for who does not read',
    refusedBy: ['a watch holds little for a reader who does not read, however much is written'],
    because: /2\d MiB are held for who does not read; 25 MiB were written/,
    flaw: (memory) => ({ watch: ahead(memory.watch.bind(memory)) }),
  },
  {
    name: 'drops what a slow reader has not taken',
    refusedBy: ['a watch waits for a slow reader, and loses nothing meanwhile'],
    because: /shows a state that there was not|in vain for what was written/,
    flaw: (memory) => ({
      async *watch(context) {
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
    }),
  },
  {
    name: 'gives each batch to one of its watches',
    refusedBy: ['a watch is independent of others: each gets everything, at its own pace, also when one ends'],
    because: /in vain for what was written/,
    flaw: (memory) => {
      const taken = new Set<string>()
      return {
        watch: batches(memory, (batch) => {
          if (batch.events.length === 0) return [batch]
          if (taken.has(batch.version)) return []
          taken.add(batch.version)
          return [batch]
        }),
      }
    },
  },
  {
    name: 'never says that it is alive',
    refusedBy: ['a watch speaks at least every heartbeatMs, also where nothing happens'],
    because: /in vain for heartbeat/,
    flaw: (memory) => ({ watch: silent(memory.watch.bind(memory)) }),
  },
  {
    name: 'does not answer a progress request',
    refusedBy: ['a watch answers a progress request with a bookmark'],
    because: /in vain for the answer to a progress request/,
    flaw: (memory) => ({
      watch: (context) => {
        context.onProgressRequest(() => {})
        return memory.watch({ ...context, onProgressRequest: () => {} })
      },
    }),
  },
  {
    name: 'has bookmarks that run ahead',
    refusedBy: [
      'a version of any batch is safe to resume from: nothing after it is lost',
      'a version of a batch without events says that all up to it was told',
    ],
    because: /in vain for what was written/,
    flaw: (memory) => ({
      watch: batches(memory, (batch) => (batch.events.length === 0 ? [batch] : [{ ...batch, events: [] }, batch])),
    }),
  },
  {
    name: 'keeps no deletes in its history',
    refusedBy: ['a version resumed from after deletes were missed tells the deletes'],
    because: /"k4" should not be there/,
    flaw: (memory) => ({
      async *watch(context) {
        const head = await memory.head()
        yield* only(
          memory.watch.bind(memory),
          ({ type }, { version }) => type !== 'delete' || !memory.hasReached(head, version),
        )(context)
      },
    }),
  },
  {
    name: 'goes on from the latest version that anybody has asked for',
    refusedBy: ['a version of long ago and one of now can be resumed from at the same time'],
    because: /in vain for what was written/,
    flaw: (memory) => {
      let latest = ''
      return {
        watch: async function* (context) {
          if (latest === '' || memory.hasReached(context.after, latest)) latest = context.after
          await context.clock.sleep(20)
          yield* memory.watch({ ...context, after: latest })
        },
      }
    },
  },
  {
    name: 'repeats the version of the list in every bookmark',
    refusedBy: ['a version of a watch never goes back'],
    because: /went back from/,
    flaw: (memory) => ({
      watch: batches(memory, (batch, _, { after }) => [
        batch.events.length === 0 ? { ...batch, version: after } : batch,
      ]),
    }),
  },
  {
    name: 'ends all of its watches with one',
    refusedBy: ['the signal of one watch is no business of another'],
    because: /the connection was lost/,
    flaw: (memory) => ({
      async *watch(context) {
        const end = (): void => memory.disconnect()
        context.signal.addEventListener('abort', end, { once: true })
        yield* memory.watch(context)
      },
    }),
  },
]

/** Without the events that are not wanted. */
function only(watch: Watches, isWanted: (event: WatchEvent<Item>, batch: WatchBatch<Item>) => boolean): Watches {
  return async function* (context) {
    for await (const batch of watch(context))
      yield { ...batch, events: batch.events.filter((each) => isWanted(each, batch)) }
  }
}

/** Batches of more than `size` events come in parts. */
function splitting(watch: Watches, size: number): Watches {
  return async function* (context) {
    let safe = context.after
    for await (const batch of watch(context)) {
      for (let at = 0; at + size < batch.events.length; at += size) {
        yield { events: batch.events.slice(at, at + size), version: safe }
      }
      const rest = batch.events.length % size
      yield {
        ...batch,
        events: batch.events.slice(batch.events.length - (rest === 0 ? Math.min(size, batch.events.length) : rest)),
      }
      safe = batch.version
    }
  }
}

/** Without bookmarks, other than the first. */
function silent(watch: Watches): Watches {
  return async function* (context) {
    let hasSpoken = false
    for await (const batch of watch(context)) {
      if (hasSpoken && batch.events.length === 0) continue
      hasSpoken = true
      yield batch
    }
  }
}

/** Reads all that there is, wanted or not, and keeps it until it is. */
function ahead(watch: Watches): Watches {
  return async function* (context) {
    const kept: WatchBatch<Item>[] = []
    let wake = (): void => {}
    const reading = (async () => {
      for await (const { events, version } of watch(context)) {
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
}

/** The same event with a value of its own, as one that came over a network. */
function copied(event: WatchEvent<Item>): WatchEvent<Item> {
  return event.type === 'put' ? { ...event, object: { value: Buffer.from(event.object.value).toString() } } : event
}

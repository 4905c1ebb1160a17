import { systemClock } from '../../src/contract/clock.js'
import { DEFAULT_HEARTBEAT_MS, type WatchEvent } from '../../src/contract/source.js'
import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { printable } from './expected-contents.js'
import { usedHeapBytes } from './garbage-collection.js'
import { check } from './run/assertions.js'
import { buildCases, needs } from './run/case-builder.js'
import { type CaseContext, SkipCase } from './run/case-context.js'
import type { Position } from './run/watch-recorder.js'

export const watchCases: readonly ConformanceCase[] = buildCases('watches', [], {
  'a watch delivers adds, updates and deletes in order': async (context) => {
    const watch = await context.openWatch()
    await context.put('a', 'added')
    await context.put('a', 'changed')
    await context.put('b', 'added')
    await context.delete('a')
    await context.expectFollowed(watch)
  },
  'a watch resumes at the version of the list: writes during the list are not lost': async (context) => {
    await writeMany(context, 6)
    const listing = await context.list({
      pageSize: 2,
      between: async (page) => {
        await context.write({ key: `during${page}`, value: 'x' }, { key: 'k0', value: `during ${page}` })
      },
    })
    await context.delete('k1')
    await context.put('after', 'x')
    const watch = context.watch(listing)
    await context.expectFollowed(watch)
  },
  'a watch delivers a transaction atomically': needs(['transactions'], async (context) => {
    const watch = await context.openWatch()
    for (let round = 0; round < 20; round++) {
      const all = ['a', 'b', 'c', 'd', 'e'].map((key, at) => ({
        key,
        value: (round + at) % 5 === 0 ? undefined : `round ${round}`,
      }))
      await context.write(...all)
      if (round % 3 === 0) await watch.untilEqual(context.current)
    }
    await context.expectFollowed(watch)
  }),
  'a watch delivers a transaction of 1 000 objects atomically': needs(['transactions'], async (context) => {
    const watch = await context.openWatch()
    await writeMany(context, 1_000)
    await writeMany(context, 1_000, 'again')
    await context.expectFollowed(watch)
  }),
  'a watch delivers a transaction that was open while others were committed': needs(
    ['openTransactions'],
    async (context) => {
      await writeMany(context, 3)
      const watch = await context.openWatch()
      const commit = await context.begin({ key: 'k0', value: 'late' }, { key: 'k1', value: undefined })
      const listing = await context.list()
      await context.put('k2', 'quick')
      await watch.untilEqual(context.current)
      const position = watch.position()
      await commit()
      for (const each of [watch, context.watch(position), context.watch(listing)])
        await each.untilEqual(context.current)
      context.expectStates('the watch', watch.positions)
    },
  ),
  'a watch delivers the final state of a key that a transaction writes several times': needs(
    ['transactions'],
    async (context) => {
      await context.put('gone', 'x')
      const watch = await context.openWatch()
      await context.write(
        { key: 'kept', value: 'one' },
        { key: 'gone', value: 'two' },
        { key: 'brief', value: 'x' },
        { key: 'kept', value: 'two' },
        { key: 'gone', value: undefined },
        { key: 'brief', value: undefined },
      )
      await context.expectFollowed(watch)
    },
  ),
  'a watch never returns a key to an older value, even if it is written fast': async (context) => {
    const watch = context.watch(await context.list())
    for (let round = 0; round < 150; round++) await context.put('k', String(round))
    await watch.untilEqual(context.current)
    let last = -1
    for (const { contents } of watch.positions) {
      const value = Number(contents.values.get('k') ?? last)
      check(value >= last, `the watch went back from ${last} to ${value}`)
      last = value
    }
  },
  'lists and a watch show the transactions of each writer whole and in order': async (context) => {
    const watch = await context.openWatch()
    let isDone = false
    const writing = Promise.all(WRITERS.map((writer) => writeRounds(context, writer))).finally(() => {
      isDone = true
    })
    writing.catch(() => {}) // It is awaited below, unless a list fails first.
    const lists: Position[] = []
    for (let hasEnded = false; !hasEnded && lists.length < 20; hasEnded = isDone)
      lists.push(await context.list({ pageSize: 4 }))
    await writing
    await watch.untilEqual(context.current)
    for (const seen of [lists, watch.positions]) checkRounds(context, seen)
  },
  'a watch does not repeat the events of the list before it': async (context) => {
    await writeMany(context, 4)
    await context.delete('k3')
    const watch = await context.openWatch()
    const delivered = watch.batches.flatMap(({ events }) => events)
    const again = delivered.find((event) => event.type !== 'replace' && event.key !== context.keyOf('opened'))
    check(again === undefined, `the watch repeated an event that is not later than its version: ${nameOf(again)}`)
  },
  'a watch waits for a slow reader and loses no change': async (context) => {
    const watch = await context.openWatch()
    const long = 'x'.repeat(10_000)
    for (let round = 0; round < 200; round++) {
      await context.write(
        { key: `k${round % 50}`, value: `${round} ${long}` },
        { key: `k${(round + 7) % 50}`, value: undefined },
      )
    }
    await context.expectFollowed(watch)
  },
  'a watch buffers little for a reader that does not read, even if much is written': needs(
    ['ownHeap'],
    async (context) => {
      const watch = await context.openWatch()
      // Only two strings are written: the recorder's references to them need no memory.
      const values = ['a'.repeat(BIG), 'b'.repeat(BIG)]
      const before = await usedHeapBytes()
      if (before === undefined) throw new SkipCase('the heap of this process cannot be measured')
      for (let round = 0; round < WRITES; round++) await context.put('k', values[round % 2] ?? '')
      // A source that reads ahead needs time for that.
      for (let times = 0; times < 10; times++) await systemClock.sleep(20)
      const held = Math.round((((await usedHeapBytes()) ?? 0) - before) / MIB)
      const written = (WRITES * BIG) / MIB
      check(held < written / 2, `${held} MiB are buffered for a reader that does not read; ${written} MiB were written`)
      await watch.untilEqual(context.current)
    },
  ),
  'watches are independent: each receives every change at its own pace, even after another ends': async (context) => {
    const listing = await context.list()
    const [quick, slow, brief] = [context.watch(listing), context.watch(listing), context.watch(listing)]
    await context.untilOpen(quick, slow, brief)
    await writeMany(context, 5)
    await brief.untilEqual(context.current)
    await quick.untilEqual(context.current)
    await brief.stop()
    await context.put('k0', 'after one has ended')
    await quick.untilEqual(context.current)
    await slow.untilEqual(context.current)
    for (const watch of [quick, slow]) context.expectStates('a watch', watch.positions)
  },
  'a watch yields a batch at least every heartbeatMs, even if nothing changes': {
    heartbeatMs: 50,
    check: async (context) => {
      const { heartbeatMs = DEFAULT_HEARTBEAT_MS } = context.source
      check(heartbeatMs > 0 && Number.isFinite(heartbeatMs), `heartbeatMs is ${heartbeatMs}`)
      const watch = context.watch(await context.list())
      // The idle time-out of a reflector, with one second instead of its five for a busy machine.
      const silenceMs = 2 * heartbeatMs + 1_000
      for (let beats = 0; beats < 4; beats++) await watch.next(`heartbeat ${beats}`, silenceMs)
      const { events = [] } = watch.batches.find((batch) => batch.events.length > 0) ?? {}
      check(events.length === 0, 'the watch delivered an event although nothing changed')
    },
  },
  'a watch answers a progress request with a bookmark': needs(['progressRequests'], async (context) => {
    const watch = await context.openWatch()
    check(
      watch.progressRequests.length > 0,
      'the watch never called onProgressRequest; without it, name progressRequests in `unsupported`',
    )
    for (let times = 0; times < 3; times++) {
      const next = watch.next('the answer to a progress request')
      watch.requestProgress()
      await next
    }
  }),
})

const MIB = 1024 * 1024
const BIG = MIB / 16
const WRITES = 400

const WRITERS = ['w', 'x', 'y', 'z']
const ROUNDS = 15

/** One writer's transactions: each writes the number of its round under three keys. */
async function writeRounds(context: CaseContext, writer: string): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++) {
    await context.write(...[1, 2, 3].map((number) => ({ key: `${writer}${number}`, value: String(round) })))
    await context.clock.sleep(0)
  }
}

/** Throws for rounds that are torn, or out of their writer's order. */
function checkRounds(context: CaseContext, seen: readonly Position[]): void {
  for (const writer of WRITERS) {
    let last = 0
    for (const { contents, version } of seen) {
      const [first = 0, second = 0, third = 0] = [1, 2, 3].map((number) =>
        Number(contents.values.get(context.keyOf(`${writer}${number}`)) ?? 0),
      )
      const isWhole = first === second && second === third
      check(
        isWhole || !context.supports('transactions'),
        `a transaction is torn at ${version}: ${first}, ${second}, ${third}`,
      )
      check(first >= last, `a writer's round ${first} comes after its round ${last}, at ${version}`)
      last = first
    }
  }
}

function nameOf(event: WatchEvent<unknown> | undefined): string {
  return event === undefined || event.type === 'replace' ? 'a replace' : `${event.type} ${printable(event.key ?? '')}`
}

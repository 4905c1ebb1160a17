import { systemClock } from '../../src/contract/clock.js'
import { DEFAULT_HEARTBEAT_MS, type WatchEvent } from '../../src/contract/source.js'
import { check } from './assertions.js'
import { casesOf } from './case-builder.js'
import { SkipCase, type Trial } from './case-context.js'
import type { ConformanceCase } from './conformance-case.js'
import { shown } from './expected-contents.js'
import { heldBytes } from './heap-size.js'
import { fill } from './list-cases.js'
import type { Position } from './watch-recorder.js'

export const watchCases: readonly ConformanceCase[] = casesOf('a watch', [
  {
    name: 'tells what is added, changed and deleted, in order',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      await trial.put('a', 'added')
      await trial.put('a', 'changed')
      await trial.put('b', 'added')
      await trial.delete('a')
      await watching.reaches(trial.now)
      trial.expectStates('the watch', watching.trail)
    },
  },
  {
    name: 'goes on where the list was: what is written while the list is read is not lost',
    async check(trial) {
      await fill(trial, 6)
      const listing = await trial.list({
        pageSize: 2,
        between: async (page) => {
          await trial.write({ key: `during${page}`, value: 'x' }, { key: 'k0', value: `during ${page}` })
        },
      })
      await trial.delete('k1')
      await trial.put('after', 'x')
      const watching = trial.watch(listing)
      await watching.reaches(trial.now)
      trial.expectStates('the watch', watching.trail)
    },
  },
  {
    name: 'tells a transaction whole or not at all',
    needs: ['transactions'],
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      for (let round = 0; round < 20; round++) {
        const all = ['a', 'b', 'c', 'd', 'e'].map((key, at) => ({
          key,
          value: (round + at) % 5 === 0 ? undefined : `round ${round}`,
        }))
        await trial.write(...all)
        if (round % 3 === 0) await watching.reaches(trial.now)
      }
      await watching.reaches(trial.now)
      trial.expectStates('the watch', watching.trail)
    },
  },
  {
    name: 'tells a transaction of 1 000 objects whole or not at all',
    needs: ['transactions'],
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      await fill(trial, 1_000)
      await fill(trial, 1_000, 'again')
      await watching.reaches(trial.now)
      trial.expectStates('the watch', watching.trail)
    },
  },
  {
    name: 'tells a transaction that was open while others were committed',
    needs: ['openTransactions'],
    async check(trial) {
      await fill(trial, 3)
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      const commit = await trial.begin({ key: 'k0', value: 'late' }, { key: 'k1', value: undefined })
      const listing = await trial.list()
      await trial.put('k2', 'quick')
      await watching.reaches(trial.now)
      const { version, contents } = watching
      const position = { version, contents: contents.copy() }
      await commit()
      for (const each of [watching, trial.watch(position), trial.watch(listing)]) await each.reaches(trial.now)
      trial.expectStates('the watch', watching.trail)
    },
  },
  {
    name: 'shows of a key that a transaction writes several times what it ends with',
    needs: ['transactions'],
    async check(trial) {
      await trial.put('gone', 'x')
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      await trial.write(
        { key: 'kept', value: 'one' },
        { key: 'gone', value: 'two' },
        { key: 'brief', value: 'x' },
        { key: 'kept', value: 'two' },
        { key: 'gone', value: undefined },
        { key: 'brief', value: undefined },
      )
      await watching.reaches(trial.now)
      trial.expectStates('the watch', watching.trail)
    },
  },
  {
    name: 'never takes a key back to an older value, however fast it is written',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      for (let round = 0; round < 150; round++) await trial.put('k', String(round))
      await watching.reaches(trial.now)
      let last = -1
      for (const { contents } of watching.trail) {
        const value = Number(contents.values.get('k') ?? last)
        check(value >= last, `the watch went back from ${last} to ${value}`)
        last = value
      }
    },
  },
  {
    name: 'and a list show of each of several writers a state that it wrote, in its order',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      let isOver = false
      const writing = Promise.all(WRITERS.map((writer) => writeRounds(trial, writer))).finally(() => {
        isOver = true
      })
      writing.catch(() => {}) // It is awaited below, unless a list is refused before.
      const lists: Position[] = []
      for (let hasEnded = false; !hasEnded && lists.length < 20; hasEnded = isOver)
        lists.push(await trial.list({ pageSize: 4 }))
      await writing
      await watching.reaches(trial.now)
      for (const seen of [lists, watching.trail]) checkRounds(trial, seen)
    },
  },
  {
    name: 'of what was just listed tells nothing that the list has told',
    async check(trial) {
      await fill(trial, 4)
      await trial.delete('k3')
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      const told = watching.batches.flatMap(({ events }) => events)
      const again = told.find((event) => event.type !== 'replace' && event.key !== trial.keyOf('opened'))
      check(again === undefined, `the watch told again what is not later than its version: ${nameOf(again)}`)
    },
  },
  {
    name: 'waits for a slow reader, and loses nothing meanwhile',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      const long = 'x'.repeat(10_000)
      for (let round = 0; round < 200; round++) {
        await trial.write(
          { key: `k${round % 50}`, value: `${round} ${long}` },
          { key: `k${(round + 7) % 50}`, value: undefined },
        )
      }
      await watching.reaches(trial.now)
      trial.expectStates('the watch', watching.trail)
    },
  },
  {
    name: 'holds little for a reader who does not read, however much is written',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      // The same two strings again and again: what this side remembers of them costs nothing.
      const values = ['a'.repeat(BIG), 'b'.repeat(BIG)]
      const before = await heldBytes()
      if (before === undefined) throw new SkipCase('what this process holds cannot be measured')
      for (let round = 0; round < MANY; round++) await trial.put('k', values[round % 2] ?? '')
      // Who reads ahead does so at once.
      for (let looks = 0; looks < 10; looks++) await systemClock.sleep(20)
      const held = Math.round((((await heldBytes()) ?? 0) - before) / MIB)
      const written = (MANY * BIG) / MIB
      check(held < written / 2, `${held} MiB are held for who does not read; ${written} MiB were written`)
      await watching.reaches(trial.now)
    },
  },
  {
    name: 'is independent of others: each gets everything, at its own pace, also when one ends',
    async check(trial) {
      const listing = await trial.list()
      const [quick, slow, brief] = [trial.watch(listing), trial.watch(listing), trial.watch(listing)]
      await trial.opened(quick, slow, brief)
      await fill(trial, 5)
      await brief.reaches(trial.now)
      await quick.reaches(trial.now)
      await brief.stop()
      await trial.put('k0', 'after one has ended')
      await quick.reaches(trial.now)
      await slow.reaches(trial.now)
      for (const watching of [quick, slow]) trial.expectStates('a watch', watching.trail)
    },
  },
  {
    name: 'speaks at least every heartbeatMs, also where nothing happens',
    heartbeatMs: 50,
    async check(trial) {
      const { heartbeatMs = DEFAULT_HEARTBEAT_MS } = trial.source
      check(heartbeatMs > 0 && Number.isFinite(heartbeatMs), `heartbeatMs is ${heartbeatMs}`)
      const watching = trial.watch(await trial.list())
      // As long as a reflector waits before it takes the source for dead, less its five seconds; one for a busy machine.
      const silenceMs = 2 * heartbeatMs + 1_000
      for (let beats = 0; beats < 4; beats++) await watching.next(`heartbeat ${beats}`, silenceMs)
      const { events = [] } = watching.batches.find((batch) => batch.events.length > 0) ?? {}
      check(events.length === 0, 'the watch told something, and nothing had happened')
    },
  },
  {
    name: 'answers a progress request with a bookmark',
    needs: ['progressRequests'],
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      check(watching.progressRequests.length > 0, 'the watch never called onProgressRequest')
      for (let times = 0; times < 3; times++) {
        const next = watching.next('the answer to a progress request')
        watching.requestProgress()
        await next
      }
    },
  },
])

const MIB = 1024 * 1024
const BIG = MIB / 16
const MANY = 400

const WRITERS = ['w', 'x', 'y', 'z']
const ROUNDS = 15

/** One writer's transactions: each writes the number of its round under three keys. */
async function writeRounds(trial: Trial, writer: string): Promise<void> {
  for (let round = 1; round <= ROUNDS; round++) {
    await trial.write(...[1, 2, 3].map((number) => ({ key: `${writer}${number}`, value: String(round) })))
    await trial.clock.sleep(0)
  }
}

/** Refuses rounds that are torn, or out of their writer's order. */
function checkRounds(trial: Trial, seen: readonly Position[]): void {
  for (const writer of WRITERS) {
    let last = 0
    for (const { contents, version } of seen) {
      const [first = 0, second = 0, third = 0] = [1, 2, 3].map((number) =>
        Number(contents.values.get(trial.keyOf(`${writer}${number}`)) ?? 0),
      )
      const isWhole = first === second && second === third
      check(isWhole || !trial.has('transactions'), `a transaction is torn at ${version}: ${first}, ${second}, ${third}`)
      check(first >= last, `a writer's round ${first} comes after its round ${last}, at ${version}`)
      last = first
    }
  }
}

function nameOf(event: WatchEvent<unknown> | undefined): string {
  return event === undefined || event.type === 'replace' ? 'a replace' : `${event.type} ${shown(event.key ?? '')}`
}

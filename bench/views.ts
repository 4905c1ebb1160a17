import { atMost, type Benchmark, contest, type Figure, inTurn, median } from './figures.ts'

const ORDERS = 200_000
const ROWS = 1_000_000
const ROUNDS = 3
const DEFAULT_HEAP = ['--expose-gc']

interface Changes {
  /** Nanoseconds of a change, by round. */
  readonly without: readonly number[]
  readonly withView: readonly number[]
  readonly manual: readonly number[]
  readonly peer: readonly number[]
  readonly bytes: number
}

interface Delay {
  readonly seconds: number
  readonly longestMs: number
  /** The longest pause for garbage collection. */
  readonly pauseMs: number
}

interface Large {
  readonly first: Delay
  readonly touched: Delay
  readonly looks: number
  readonly torn: number
}

/** What a join of two informers adds to a change, and how long it blocks the event loop when it has much to do. */
export const views: Benchmark = {
  name: 'views',
  about: `a one-to-one join of ${ORDERS} objects beside the same join by hand over Maps; a join of ${ROWS} objects with one`,
  async run() {
    const { changes = [] } = await inTurn(ROUNDS, {
      changes: () => contest<Changes>('views', ['changes', String(ORDERS)]),
    })
    const large = await contest<Large>('views', ['large', String(ROWS)], DEFAULT_HEAP)
    const us = (of: (each: Changes) => readonly number[]): number =>
      median(changes.map((each) => median(of(each)))) / 1_000
    const [without, joined, manual, peer] = [
      us((each) => each.without),
      us((each) => each.withView),
      us((each) => each.manual),
      us((each) => each.peer),
    ]
    const bytes = median(changes.map((each) => each.bytes))
    const blocked = (limit: number, name: string, { longestMs, seconds, pauseMs }: Delay): Figure =>
      atMost(limit, { name, value: longestMs, unit: 'ms blocked', peers: { seconds, 'longest GC pause ms': pauseMs } })
    /** A collection by itself may take longer than the goal. */
    const orCollection = ({ pauseMs }: Delay): number => Math.max(50, Math.round(1.2 * pauseMs))
    return [
      atMost(20, {
        name: 'a change of a row, until both stores show it',
        value: joined,
        unit: 'µs',
        peers: { 'without view µs': without, 'by hand µs': manual, 'db-ivm µs': peer },
      }),
      atMost(1, { name: 'the same', value: joined / peer, unit: '× db-ivm', peers: {} }),
      atMost(3, { name: 'the same', value: joined / without, unit: '× a change without view', peers: {} }),
      atMost(10, {
        name: 'what the view adds',
        value: (joined - without) / manual,
        unit: '× the join by hand',
        peers: {},
      }),
      atMost(80, { name: 'memory beside the inputs and the results', value: bytes, unit: 'bytes a row', peers: {} }),
      atMost(2, { name: `the first evaluation of ${ROWS} rows`, value: large.first.seconds, unit: 's CPU', peers: {} }),
      blocked(50, `the first evaluation of ${ROWS} rows`, large.first),
      blocked(orCollection(large.touched), `one change that touches ${ROWS} results`, large.touched),
      atMost(0, {
        name: 'reads meanwhile that saw a mix',
        value: large.torn,
        unit: 'of them',
        peers: { looks: large.looks },
      }),
    ]
  },
}

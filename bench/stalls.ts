import { atMost, type Benchmark, contest, type Figure, inTurn, median } from './figures.ts'
import type { Stall } from './workers/stalls.ts'

const OBJECTS = 1_000_000
const ROUNDS = 2
/** The event loop may be blocked for this long, in milliseconds. */
const LONGEST_MS = 50
/** A larger young generation than V8's default makes its collections fewer and longer. */
const DEFAULT_HEAP = ['--expose-gc']

/** How long each operation of a large store blocks the event loop. */
export const stalls: Benchmark = {
  name: 'stalls',
  about: `${OBJECTS} objects, three indexes, two handlers: the longest delay of the event loop during each operation`,
  async run() {
    const run = () => contest<{ readonly stalls: readonly Stall[] }>('stalls', [String(OBJECTS)], DEFAULT_HEAP)
    const { informer = [] } = await inTurn(ROUNDS, { informer: run })
    const operations = informer[0]?.stalls.map(({ operation }) => operation) ?? []
    return operations.map((operation): Figure => {
      const rounds = informer.flatMap((round) => round.stalls.filter((stall) => stall.operation === operation))
      const middle = (figure: (stall: Stall) => number): number => median(rounds.map(figure))
      return atMost(LONGEST_MS, {
        name: operation,
        value: middle(({ longestMs }) => longestMs),
        unit: 'ms blocked',
        peers: {
          'p99.9 ms': Math.round(middle(({ p999Ms }) => p999Ms)),
          'longest GC pause ms': Math.round(middle(({ pauseMs }) => pauseMs)),
          seconds: Math.round(10 * middle(({ seconds }) => seconds)) / 10,
        },
      })
    })
  },
}

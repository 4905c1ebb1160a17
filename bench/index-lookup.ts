import { atLeast, atMost, type Benchmark, contest, inTurn, median, medianRatio } from './figures.ts'

const OBJECTS = 200_000
const HITS = 200
const ROUNDS = 3

interface Result {
  readonly list: number
  readonly afterWrite: number
  readonly touch: number
}

/** What a lookup by index costs for each object found. */
export const indexLookup: Benchmark = {
  name: 'index',
  about: `lookups of ${HITS} objects among ${OBJECTS}, against client-go's shape (keys, then a get each) and against arrays`,
  async run() {
    const run = (contestant: string) => () => contest<Result>('index', [contestant, String(OBJECTS), String(HITS)])
    const results = await inTurn(ROUNDS, {
      listwatch: run('listwatch'),
      'client-go': run('client-go'),
      array: run('array'),
    })
    const of = (name: string, what: keyof Result): number[] => (results[name] ?? []).map((result) => result[what])
    const peers = (what: keyof Result) => ({
      'listwatch ns/object': round(median(of('listwatch', what))),
      'client-go shape ns/object': round(median(of('client-go', what))),
      'array ns/object': round(median(of('array', what))),
    })
    return [
      atLeast(20, {
        name: 'index list',
        value: medianRatio(of('client-go', 'list'), of('listwatch', 'list')),
        unit: "× as fast as client-go's shape",
        peers: peers('list'),
      }),
      atLeast(5, {
        name: 'index list after a write',
        value: medianRatio(of('client-go', 'afterWrite'), of('listwatch', 'afterWrite')),
        unit: "× as fast as client-go's shape",
        peers: peers('afterWrite'),
      }),
      atMost(1.5, {
        name: 'index list and touch',
        value: medianRatio(of('listwatch', 'touch'), of('array', 'touch')),
        unit: '× an array that is there',
        peers: peers('touch'),
      }),
    ]
  },
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

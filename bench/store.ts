import { atMost, type Benchmark, contest, inTurn, median, medianRatio } from './figures.ts'

const OBJECTS = 300_000
const ROUNDS = 5

interface Result {
  readonly load: number
  readonly update: number
}

/** What a mirror with three indexes and one handler adds to parsing and keeping. */
export const store: Benchmark = {
  name: 'store',
  about: `${OBJECTS} objects of 290 bytes: three indexes, one handler, against a bare JSON.parse + Map.set loop`,
  async run() {
    const run = (contestant: string) => () => contest<Result>('store', [contestant, String(OBJECTS)])
    const { floor = [], informer = [] } = await inTurn(ROUNDS, { floor: run('floor'), informer: run('informer') })
    const figure = (what: 'load' | 'update', limit: number) => {
      const [ours, bare] = [informer.map((result) => result[what]), floor.map((result) => result[what])]
      const peers = { 'listwatch ns/object': Math.round(median(ours)), 'floor ns/object': Math.round(median(bare)) }
      return atMost(limit, { name: `store ${what}`, value: medianRatio(ours, bare), unit: '× the floor', peers })
    }
    return [figure('load', 1.3), figure('update', 1.2)]
  },
}

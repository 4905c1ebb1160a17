import { fileURLToPath } from 'node:url'
import { atMost, type Benchmark, contest, type Figure } from './figures.ts'

const OBJECTS = 1_000_000
/** A folder with the `dist` of another version, to compare with. */
const OTHER = process.env['LISTWATCH_BENCH_OTHER']

type Result = Readonly<Record<string, number>>

const sorted: readonly (readonly [index: string, about: string])[] = [
  ['created', 'an ordered index of numbers'],
  ['restarts', 'an ordered index of 50 values'],
  ['node', 'an ordered index of strings'],
  ['compound', 'a compound index'],
]
const speeds: readonly (readonly [what: string, about: string, limit: number])[] = [
  ['build', 'the first query, for each object', 1_000],
  ['insert', 'an insert at random', 2_500],
  ['update', 'a new value at random', 5_000],
  ['range', 'a range of 1 000 that is read five times, for each object', 35],
]
const heaps: readonly (readonly [indexes: string, limit: number])[] = [
  ['three equal', 150],
  ['three multi', 250],
  ['three ordered', 200],
]

/** The cost of each kind of index. */
export const indexes: Benchmark = {
  name: 'indexes',
  about: `${OBJECTS} objects: the nanoseconds and the bytes of each kind of index; LISTWATCH_BENCH_OTHER=folder compares`,
  async run() {
    const figures: Figure[] = []
    for (const [index, about] of sorted) {
      const { now, other } = await measure(index)
      for (const [what, means, limit] of speeds) {
        const peers = { ...peer(other, what), ...floorOf(now, what) }
        figures.push(atMost(limit, { name: `${about}: ${means}`, value: now[what] ?? NaN, unit: 'ns', peers }))
      }
      const { once = NaN, 'range floor': floor = NaN } = now
      const name = `${about}: the first read of a range, beside a loop over an array of positions`
      figures.push(atMost(1.2, { name, value: once / floor, unit: '×', peers: {} }))
    }
    for (const [kind, limit] of heaps) {
      const { now, other } = await measure(kind)
      const name = `the heap of a store with ${kind} indexes, for each object`
      figures.push(atMost(limit, { name, value: now['bytes'] ?? NaN, unit: 'bytes', peers: peer(other, 'bytes') }))
    }
    return figures
  },
}

async function measure(index: string): Promise<{ readonly now: Result; readonly other: Result | undefined }> {
  const run = (folder: string) => contest<Result>('indexes', [index, String(OBJECTS), folder])
  const now = await run(fileURLToPath(new URL('..', import.meta.url)))
  return { now, other: OTHER === undefined ? undefined : await run(OTHER) }
}

function peer(result: Result | undefined, what: string): Record<string, number> {
  return result?.[what] === undefined ? {} : { other: Math.round(result[what]) }
}

function floorOf(result: Result, what: string): Record<string, number> {
  const bare = result[`${what} floor`]
  return bare === undefined ? {} : { 'loop over an array of positions ns': Math.round(bare) }
}

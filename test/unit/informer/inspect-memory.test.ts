import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, expect, test } from 'vitest'
import { createInformer, type Informer, type InformerOptions, type ListerWatcher } from '../../../src/index.js'
import { put } from '../../support/scripted-source.js'

const OBJECTS = 10_000

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** The heap and the typed arrays, in bytes. The objects of earlier test files are freed over several turns. */
async function memory(): Promise<number> {
  for (let last = Number.POSITIVE_INFINITY; ; ) {
    await sleep(5)
    collect()
    const { heapUsed, arrayBuffers } = process.memoryUsage()
    const used = heapUsed + arrayBuffers
    if (used > last - 10_000) return used
    last = used
  }
}

type Flat = { readonly [column: string]: unknown; readonly id: number }

const STATES = ['open', 'paid', 'shipped', 'late'] as const
const times = (n: number, each: (i: number) => unknown): object =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`column${i}`, each(i)]))

const shapes = {
  'texts that repeat': (id: number) => ({ id, ...times(9, (column) => STATES[(id + column) % 4]) }),
  'texts that are unique': (id: number) => ({
    id,
    ...times(3, (column) => `a text of some length, ${id} in ${column}`),
  }),
  'numbers and nulls': (id: number) => ({ id, ...times(9, (column) => [id / 7 + 0.1, id, null][column % 3]) }),
  'nested objects': (id: number) => ({
    id,
    status: STATES[id % 4],
    customer: { id: id % 5_000, name: `customer ${id % 5_000}`, tags: [] },
    lines: [1, 2].map((count) => ({ sku: `sku-${id % 300}`, count, at: '2026-01-15T10:00:00Z' })),
  }),
}

const withIndexes: Partial<InformerOptions<Flat, object>> = {
  indexes: (ix) => ({
    id: ix.equal(({ id }) => id),
    few: ix.equal(({ id }) => id % 9),
    order: ix.ordered(({ id }) => id),
  }),
}

const cases: readonly (readonly [string, (id: number) => object, Partial<InformerOptions<Flat, object>>])[] = [
  ...Object.entries(shapes).map(([name, shape]) => [name, shape, {}] as const),
  ['three indexes', shapes['texts that repeat'], withIndexes],
  ['equal subtrees and `intern`', shapes['nested objects'], { intern: true }],
]

/** They stop after the last measurement, so that the heap only grows. */
const running: Informer<Flat, object>[] = []
afterAll(() => Promise.all(running.map((informer) => informer.stop())))

test.each(cases)(
  '[O6] the memory of objects with %s is estimated to within 30 percent of the heap',
  { timeout: 30_000 },
  async (_name, shape, options) => {
    const source: ListerWatcher<Flat> = {
      name: 'json',
      async *list() {
        for (let from = 0; from < OBJECTS; from += 1_000) {
          const events = Array.from({ length: 1_000 }, (_, i) =>
            put(`objects/${from + i}`, JSON.parse(JSON.stringify(shape(from + i))) as Flat),
          )
          yield from + 1_000 === OBJECTS ? { events, version: '1' } : { events }
        }
      },
      async *watch({ clock, signal }) {
        for (;;) {
          await clock.sleep(1_000, signal)
          yield { events: [], version: '1' }
        }
      },
    }
    const informer = createInformer<Flat, object>({ ...options, source })
    running.push(informer)
    const before = await memory()
    await informer.start().synced()
    const { order }: { order?: (range: object) => unknown } = informer.by
    order?.({ limit: 1 }) // Sorts the index.
    const ratio = informer.inspect().memory.bytes / ((await memory()) - before)
    expect(ratio).toBeGreaterThan(0.7)
    expect(ratio).toBeLessThan(1.3)
  },
)

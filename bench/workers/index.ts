// Looks objects up by an index value: node index.ts listwatch|client-go|array <objects> <hits>
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'
import { keyOf, makeDataset, type Row } from '../dataset.ts'

const PASSES = 20

const [contestant, objects, hits] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const rows = makeDataset(objects).rows.map((line) => JSON.parse(line.toString('latin1')) as Row)
const values = Array.from({ length: Math.floor(objects / hits) }, (_, i) => `value-${i}`)
const valueOfRow = new Map(rows.map((row, i) => [row, values[i % values.length] ?? '']))
const indexed = rows.map((row): Row & { readonly value: string } => ({ ...row, value: valueOfRow.get(row) ?? '' }))
type Indexed = (typeof indexed)[number]
const entries = indexed.map((row): [string, Indexed] => [keyOf(row), row])
/** One object of each value, to be written again. */
const samples = entries.slice(0, values.length)
let sum = 0

interface Contestant {
  byValue(value: string): readonly Indexed[]
  /** Replaces these objects. Earlier results of a look-up are then outdated. */
  write(these: readonly (readonly [string, Indexed])[]): Promise<void>
}

/** client-go's shape: value → keys, then a get of each. */
function clientGo(): Contestant {
  const items = new Map(entries)
  const index = new Map<string, Set<string>>()
  for (const [key, row] of entries) index.set(row.value, (index.get(row.value) ?? new Set()).add(key))
  return {
    byValue: (value) => {
      const keys = index.get(value) ?? new Set()
      const found = new Array<Indexed>(keys.size)
      let i = 0
      for (const key of keys) found[i++] = items.get(key) as Indexed
      return found
    },
    write: async (these) => {
      for (const [key, row] of these) items.set(key, row)
    },
  }
}

/** The floor: arrays of objects that are already there. */
function arrays(): Contestant {
  const index = Map.groupBy(indexed, (row) => row.value)
  return { byValue: (value) => index.get(value) ?? [], write: async () => {} }
}

async function listwatch(): Promise<Contestant> {
  const source = memorySource({ entries })
  const pods = createInformer({ source, indexes: (ix) => ({ value: ix.equal((row) => row.value) }) })
  await pods.start().synced()
  const write: Contestant['write'] = async (these) => {
    let version = ''
    for (const [key, row] of these) version = source.put(key, row)
    await pods.waitFor(version)
  }
  return { byValue: pods.by.value, write }
}

const { byValue, write } =
  contestant === 'client-go' ? clientGo() : contestant === 'array' ? arrays() : await listwatch()

/** Nanoseconds for each object found, over all values; the quickest of all passes, each of which is short. */
async function pass(look: (found: readonly Indexed[]) => void, before: () => Promise<void>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let i = 0; i < PASSES; i++) {
    await before()
    const start = performance.now()
    for (const value of values) look(byValue(value))
    best = Math.min(best, performance.now() - start)
  }
  return (best * 1e6) / objects
}

const count = (found: readonly Indexed[]): void => {
  sum += found.length
}
const touch = (found: readonly Indexed[]): void => {
  for (const { restarts } of found) sum += restarts
}
const nothing = async (): Promise<void> => {}
let turn = 0
const change = (): Promise<void> => {
  turn++
  return write(samples.map(([key, row]) => [key, { ...row, restarts: turn }]))
}

await pass(touch, change)
console.log(
  JSON.stringify({
    afterWrite: await pass(count, change),
    list: await pass(count, nothing),
    touch: await pass(touch, nothing),
    sum,
  }),
)
process.exit()

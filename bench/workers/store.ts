// Loads and updates the same bytes: node store.ts floor|by-hand|informer|followed <objects>
import { createInformer, type ListerWatcher } from 'listwatch'
import { keyOf, makeDataset, type Row } from '../dataset.ts'
import { nsEach } from './busy.ts'

/** What an adapter makes a batch of when it is busy. */
const BATCH = 100

const [contestant, objects] = [process.argv[2], Number(process.argv[3])]
const { rows, updates } = makeDataset(objects)
const parse = (line: Buffer): Row => JSON.parse(line.toString('latin1')) as Row
let sum = 0

/** The minimum of work: parse, and store in a Map. */
async function floor(): Promise<readonly number[]> {
  const map = new Map<string, Row>()
  const keep = (line: Buffer): void => {
    const row = parse(line)
    map.set(keyOf(row), row)
    sum += row.restarts
  }
  return [await nsEach(objects, () => rows.forEach(keep)), await nsEach(objects, () => updates.forEach(keep))]
}

/** The work of the informer by hand: a Map, three indexes as sets of keys, and one handler, called with one object. */
async function byHand(): Promise<readonly number[]> {
  const map = new Map<string, Row>()
  const indexes = (['namespace', 'node', 'phase'] as const).map((name) => ({
    name,
    keys: new Map<string, Set<string>>(),
  }))
  const handle = ({
    object,
  }: {
    readonly key: string
    readonly object: Row
    readonly previous: Row | undefined
  }): void => {
    sum += object.restarts
  }
  const keep = (line: Buffer): void => {
    const object = parse(line)
    const key = keyOf(object)
    const previous = map.get(key)
    map.set(key, object)
    for (const { name, keys } of indexes) {
      const [value, old] = [object[name], previous?.[name]]
      if (value === old) continue
      if (old !== undefined) keys.get(old)?.delete(key)
      const found = keys.get(value)
      if (found === undefined) keys.set(value, new Set([key]))
      else found.add(key)
    }
    handle({ key, object, previous })
  }
  return [await nsEach(objects, () => rows.forEach(keep)), await nsEach(objects, () => updates.forEach(keep))]
}

/**
 * A mirror with three indexes and one handler; if `isFollowed`, with 4 handlers and 334 subscriptions to a value each.
 */
async function informer(isFollowed: boolean): Promise<readonly number[]> {
  const { promise: going, resolve: go } = Promise.withResolvers<void>()
  const event = (line: Buffer) => {
    const object = parse(line)
    return { type: 'put', key: keyOf(object), object, version: object.resourceVersion } as const
  }
  const source: ListerWatcher<Row> = {
    name: 'bench',
    heartbeatMs: 600_000,
    hasReached: (at, mark) => Number(at) >= Number(mark),
    async *list({ pageSize }) {
      for (let at = 0; at < objects; at += pageSize) yield { events: rows.slice(at, at + pageSize).map(event) }
      yield { events: [], version: '0' }
    },
    async *watch({ signal }) {
      await going
      for (let at = 0; at < objects; at += BATCH) {
        yield { events: updates.slice(at, at + BATCH).map(event), version: String(at + BATCH) }
      }
      await new Promise((_resolve, reject) => signal.addEventListener('abort', reject, { once: true }))
    },
  }
  const pods = createInformer({
    source,
    indexes: (ix) => ({
      namespace: ix.equal((row) => row.namespace),
      node: ix.equal((row) => row.node),
      phase: ix.equal((row) => row.phase),
    }),
  })
  const handle = ({ object }: { readonly object: Row }): void => {
    sum += object.restarts
  }
  const handlers = { add: handle, update: handle, delete: handle }
  const subscription = pods.subscribe(handlers)
  if (isFollowed) {
    for (let i = 1; i < 4; i++) pods.subscribe(handlers)
    for (let i = 0; i < 334; i++)
      pods.subscribe(handlers, { where: { namespace: `team-${String(3 * i).padStart(4, '0')}` } })
  }
  const load = await nsEach(objects, async () => {
    await pods.start().synced()
    await subscription.synced()
  })
  const last = String(Math.ceil(objects / BATCH) * BATCH)
  const update = await nsEach(objects, async () => {
    go()
    await subscription.waitFor(last)
  })
  await pods.stop()
  return [load, update]
}

const contestants: Readonly<Record<string, () => Promise<readonly number[]>>> = {
  floor,
  'by-hand': byHand,
  informer: () => informer(false),
  followed: () => informer(true),
}
const run = contestants[contestant ?? '']
if (run === undefined) throw new Error(`there are ${Object.keys(contestants).join(', ')}`)
const [load, update] = await run()
console.log(JSON.stringify({ load, update, sum }))

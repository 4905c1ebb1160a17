// Nanoseconds to queue and run a key: node controllers.ts loop|p-queue|controller|replicas <keys> <rounds>
// The shares of replicas: node controllers.ts shares <keys> <members>
import { createInformer } from 'listwatch'
import type { Leases } from 'listwatch/adapter'
import { memoryLeases, memorySource } from 'listwatch/memory'
import { VirtualClock } from 'listwatch/testing'
import { nsEach } from './busy.ts'

const CONCURRENCY = 16
/** Rounds in which the code is compiled. */
const WARM_UP = 3
/** Virtual time after which all members own their shares. */
const SETTLED_MS = 60_000

const [contestant = '', keyCount, count] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const keys = Array.from({ length: keyCount }, (_, at) => `order-${at}`)
let runs = 0
let done = Promise.withResolvers<void>()

async function reconcile(_key: string): Promise<void> {
  if (++runs === keyCount) done.resolve()
}

/** What every queue of keys does at least: a key is in it once, and is run later. */
async function loop(): Promise<void> {
  const queue = new Set<string>(keys)
  for (const key of queue) {
    queue.delete(key)
    await reconcile(key)
  }
}

/** The part of p-queue that is used. No other contestant loads it. */
interface PQueue {
  add(run: () => Promise<void>): Promise<unknown>
  onIdle(): Promise<void>
}

async function pQueue(): Promise<void> {
  const module = (await import(String('p-queue'))) as { default: new (options: { concurrency: number }) => PQueue }
  const queue = new module.default({ concurrency: CONCURRENCY })
  for (const key of keys) void queue.add(() => reconcile(key))
  await queue.onIdle()
}

async function controllerOf(leases?: Leases): Promise<() => Promise<void>> {
  const orders = createInformer({ source: memorySource({ entries: keys.map((key) => [key, key] as const) }) })
  const controller = orders.reconcile(reconcile, { concurrency: CONCURRENCY, ...(leases && { leases }) })
  await orders.start().synced()
  await done.promise // It has run all keys once.
  return async () => {
    for (const key of keys) controller.enqueue(key)
    await done.promise
  }
}

/** The greatest difference of a share from the mean, as a part of the mean. */
async function unevenness(members: number): Promise<number> {
  const clock = new VirtualClock()
  const leases = memoryLeases({ group: 'orders', clock })
  const source = memorySource({ entries: keys.map((key) => [key, key] as const) })
  const orders = createInformer({ source, clock })
  const owned = Array.from({ length: members }, () => new Set<string>())
  for (const own of owned) orders.reconcile(async (key) => void own.add(key), { leases })
  await orders.start().synced()
  await clock.advance(SETTLED_MS)
  for (const own of owned) own.clear()
  source.transaction((tx) => {
    for (const key of keys) tx.put(key, 'changed')
  })
  await clock.advance(1_000)
  const runsOfAll = owned.reduce((sum, { size }) => sum + size, 0)
  if (runsOfAll !== keyCount) throw new Error(`${runsOfAll} keys of ${keyCount} were run`)
  const mean = keyCount / members
  return Math.max(...owned.map(({ size }) => Math.abs(size - mean))) / mean
}

if (contestant === 'shares') console.log(JSON.stringify({ unevenness: await unevenness(count) }))
else {
  const work = {
    loop: async () => loop,
    'p-queue': async () => pQueue,
    controller: () => controllerOf(),
    replicas: () => controllerOf(memoryLeases({ group: 'orders', leaseMs: 1_000 })),
  }[contestant]
  if (work === undefined) throw new Error(`there is no "${contestant}"`)
  const perform = await work()
  const ns: number[] = []
  for (let round = 0; round < WARM_UP + count; round++) {
    runs = 0
    done = Promise.withResolvers<void>()
    const each = await nsEach(keyCount, perform)
    if (runs !== keyCount) throw new Error(`${runs} runs of ${keyCount} keys`)
    if (round >= WARM_UP) ns.push(each)
  }
  ns.sort((a, b) => a - b)
  console.log(JSON.stringify({ ns: ns[ns.length >> 1] }))
}
process.exit()

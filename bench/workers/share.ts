// Worker threads with one shared mirror, or with informers of their own:
//   node share.ts one|share|informers <rows> <workers> <changes a second> <seconds>
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'
import { shareInformer } from 'listwatch/share'
import { type Answer, entriesOf, row } from './share-follower.ts'

/** The result of one contestant. */
export interface Shared {
  readonly rssMb: number
  readonly joinMs: number
  readonly joinAllMs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly deliveries: number
  readonly mainPercent: number
}

const [contestant = ''] = process.argv.slice(2)
const [rows = 0, workers = 0, perSecond = 0, seconds = 0] = process.argv.slice(3).map(Number)
const ownInformers = contestant === 'informers'
const source = memorySource({ entries: entriesOf(ownInformers ? 0 : rows) })
const informer = createInformer({ source })
await informer.start().synced()
const share = shareInformer(informer)

function start(): Worker {
  const port = share.port()
  const workerData = ownInformers ? { rows } : { port }
  return new Worker(new URL('share-follower.ts', import.meta.url), {
    workerData,
    transferList: ownInformers ? [] : [port],
  })
}

async function answer(worker: Worker, question?: string): Promise<Answer> {
  const next = once(worker, 'message')
  if (question !== undefined) worker.postMessage(question)
  return (await next)[0] as Answer
}

const middle = (values: readonly number[], share: number): number =>
  values[Math.floor(values.length * share)] ?? Number.NaN

const threads = Array.from({ length: contestant === 'one' ? 0 : workers }, start)
const joins = (await Promise.all(threads.map((thread) => answer(thread)))).map(({ joinMs }) => joinMs)
let joinMs = Number.NaN
if (contestant !== 'one') {
  const late = start()
  joinMs = (await answer(late)).joinMs
  await late.terminate()
}

if (contestant === 'share') await sleep(65_000) // The encoded list is dropped after a minute without a join.
for (const thread of threads) await answer(thread, 'gc')
globalThis.gc?.()
await sleep(500)
const rssMb = process.memoryUsage.rss() / 2 ** 20

const latencies: number[] = []
let mainPercent = Number.NaN
if (!ownInformers) {
  const cpu = process.threadCpuUsage()
  const began = performance.now()
  for (let i = 0; performance.now() - began < seconds * 1_000; i++) {
    source.put(`${(i * 7_919) % rows}`, row(i, performance.timeOrigin + performance.now()))
    const aheadMs = ((i + 1) * 1_000) / perSecond - (performance.now() - began)
    if (aheadMs > 1) await sleep(aheadMs)
  }
  const { user, system } = process.threadCpuUsage(cpu)
  mainPercent = (user + system) / 10 / (performance.now() - began)
  await sleep(1_000)
  for (const thread of threads) latencies.push(...(await answer(thread, 'latencies')).latencies)
  latencies.sort((a, b) => a - b)
}
const result: Shared = {
  rssMb: Math.round(rssMb),
  joinMs: Math.round(joinMs),
  joinAllMs: Math.round(Math.max(...joins)),
  p50Ms: middle(latencies, 0.5),
  p99Ms: middle(latencies, 0.99),
  deliveries: latencies.length,
  mainPercent: Math.round(mainPercent),
}
console.log(JSON.stringify(result))
process.exit()

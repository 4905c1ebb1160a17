// Worker threads with one shared mirror, or with informers of their own:
//   node share.ts one|share|informers|floor <rows> <workers> <changes a second> <seconds>
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'
import { serveShared } from 'listwatch/share'
import { type Answer, collectGarbage, entriesOf, row } from './share-follower.ts'

/** The result of one contestant. */
export interface Shared {
  readonly rssMb: number
  /** With a subscription in each worker. */
  readonly subscribedMb: number
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
const isFloor = contestant === 'floor'
const source = memorySource({ entries: entriesOf(ownInformers || isFloor ? 0 : rows) })
const informer = createInformer({ source })
await informer.start().synced()
const share = serveShared(informer)

/** The workers are JavaScript: a compiler in each thread would count as memory of the share. */
const follower = stripTypeScriptTypes(readFileSync(new URL('share-follower.ts', import.meta.url), 'utf8')).replace(
  /from '(listwatch[^']*)'/g,
  (_all, name: string) => `from '${import.meta.resolve(name)}'`,
)
const followerUrl = new URL(`data:text/javascript,${encodeURIComponent(follower)}`)

function start(): Worker {
  const port = share.port()
  const workerData = isFloor ? { rows: 'none' } : ownInformers ? { rows } : { port }
  return new Worker(followerUrl, {
    workerData,
    transferList: ownInformers || isFloor ? [] : [port],
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
if (contestant === 'share' || ownInformers) {
  const late = start()
  joinMs = (await answer(late)).joinMs
  await late.terminate()
}

async function rssNow(): Promise<number> {
  for (const thread of threads) await answer(thread, 'gc')
  collectGarbage()
  await sleep(500)
  return process.memoryUsage.rss() / 2 ** 20
}

const rssMb = await rssNow()
let subscribedMb = Number.NaN
if (contestant === 'share') {
  for (const thread of threads) await answer(thread, 'subscribe')
  subscribedMb = await rssNow()
}

const latencies: number[] = []
let mainPercent = Number.NaN
if (!ownInformers) {
  const cpu = process.threadCpuUsage()
  const began = performance.now()
  for (let i = 0; performance.now() - began < seconds * 1_000; i++) {
    const at = performance.timeOrigin + performance.now()
    if (isFloor) for (const thread of threads) thread.postMessage(at)
    else source.put(`${(i * 7_919) % rows}`, row(i, at))
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
  subscribedMb: Math.round(subscribedMb),
  joinMs: Math.round(joinMs),
  joinAllMs: Math.round(Math.max(...joins)),
  p50Ms: middle(latencies, 0.5),
  p99Ms: middle(latencies, 0.99),
  deliveries: latencies.length,
  mainPercent: Math.round(mainPercent),
}
console.log(JSON.stringify(result))
process.exit()

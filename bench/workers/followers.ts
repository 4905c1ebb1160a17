// Serves a mirror and measures its followers: node followers.ts <followers> <batches a second> <seconds> <objects>
// <joining>
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createInformer } from 'listwatch'
import { nodeListener, serveHttp } from 'listwatch/http'
import { memorySource } from 'listwatch/memory'

const [followers = 0, perSecond = 0, seconds = 0, objects = 0, joining = 0] = process.argv.slice(2).map(Number)

interface Row {
  readonly name: string
  readonly at: number
  readonly text: string
}

const row = (i: number): Row => ({ name: `object-${i}`, at: Date.now(), text: 'x'.repeat(200) })
const source = memorySource<Row>({
  entries: Array.from({ length: objects }, (_, i): [string, Row] => [`${i}`, row(i)]),
})
const informer = createInformer({ source })
let snapshots = 0
const { snapshot } = informer
informer.snapshot = () => {
  snapshots++
  return snapshot.call(informer)
}
await informer.start().synced()
const mirror = serveHttp(informer)
const server = createServer(nodeListener(mirror))
// A client may be too busy to reuse a connection within the default of 5 s.
server.keepAliveTimeout = 120_000
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 })
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

/** A process with followers. It prints a line when they are connected, and one with its result. */
function clients(mode: string, count: number) {
  const path = fileURLToPath(new URL('follower-clients.ts', import.meta.url))
  const child = spawn(process.execPath, [path, mode, url, String(count)], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async <R>(): Promise<R> => JSON.parse((await lines.next()).value ?? 'null') as R
  return { line, end: () => child.stdin.end(), ended: once(child, 'exit') }
}

const joiners = clients('join', joining)
const { joinMs } = await joiners.line<{ joinMs: number }>()
await joiners.ended

const readers = clients('read', followers)
await readers.line()
const cpu = process.cpuUsage()
const began = Date.now()
for (let i = 0; i < seconds * perSecond; i++) {
  source.put(`${i % objects}`, row(i))
  await sleep(Math.max(0, began + ((i + 1) * 1_000) / perSecond - Date.now()))
}
const { user, system } = process.cpuUsage(cpu)
const serverCpu = (user + system) / 1_000 / (Date.now() - began)
await sleep(1_000)
readers.end()
const latencies = await readers.line<{ p50Ms: number; p99Ms: number; deliveries: number }>()
await readers.ended
await sleep(1_000)

// Followers that do not read, and enough changes to fill what the kernel and the streams hold.
const stopped = 200
globalThis.gc?.()
const before = process.memoryUsage()
const sleepers = clients('stop', stopped)
await sleepers.line()
for (let i = 0; i < 40_000; i++) {
  source.put(`${i % objects}`, row(i))
  if (i % 500 === 0) await sleep(1)
}
await sleep(500)
globalThis.gc?.()
const after = process.memoryUsage()
const held = (usage: NodeJS.MemoryUsage): number => usage.heapUsed + usage.external
/** The history is shared by all followers. */
const history = 16 * 1024 * 1024
const stoppedBytes = Math.max(0, held(after) - held(before) - history) / stopped
sleepers.end()
console.log(JSON.stringify({ ...latencies, serverCpu, joinMs, snapshots, stoppedBytes }))
process.exit(0)

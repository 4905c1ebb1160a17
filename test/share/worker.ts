// A follower in a worker thread or in a process of its own. It sends its state, and performs what it receives.
import { parentPort, workerData } from 'node:worker_threads'
import { sharedSource } from '../../serving/share/index.js'
import { createInformer } from '../../src/index.js'
import type { FollowerReport, FollowerTask } from './followers.js'

type Row = { readonly n: number }

const path = process.argv[2]
const source = sharedSource<Row>({ heartbeatMs: 300, ...(path === undefined ? { port: workerData.port } : { path }) })
const follower = createInformer({ source })
follower.on('error', () => {})

function send(): void {
  const { status, size } = follower
  let sum = 0
  for (const { n } of follower.list()) sum += n
  const report: FollowerReport = { state: status.state, relists: status.relists, size, sum, modules: loadedModules() }
  if (parentPort === null) process.send?.(report)
  else parentPort.postMessage(report)
}

function loadedModules(): readonly string[] {
  const { moduleLoadList }: { readonly moduleLoadList?: readonly string[] } = Object(process)
  return (moduleLoadList ?? []).map((each) => each.replace('NativeModule ', ''))
}

function block(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function perform({ blockMs = 0, stop = false }: FollowerTask): void {
  block(blockMs)
  if (stop) void follower.stop().then(() => process.exit())
  send()
}

if (parentPort === null) process.on('message', (task: FollowerTask) => perform(task))
else parentPort.on('message', (task: FollowerTask) => perform(task))
await follower.start().synced()
send()

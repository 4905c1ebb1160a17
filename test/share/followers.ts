import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type MessagePort, Worker } from 'node:worker_threads'
import { onTestFinished } from 'vitest'
import { root } from '../support/sources.js'

/** The state of a follower in another thread or process. */
export interface FollowerReport {
  readonly state: string
  readonly relists: number
  readonly size: number
  readonly sum: number
  readonly modules: readonly string[]
}

export interface FollowerTask {
  /** How long it blocks its event loop, in milliseconds. */
  readonly blockMs?: number
  readonly stop?: boolean
}

const execArgv = ['--import', join(root, 'scripts/typescript.mjs')]
const file = join(root, 'test/share/worker.ts')

export function startWorker(port: MessagePort): Worker {
  const worker = new Worker(file, { workerData: { port }, transferList: [port], execArgv })
  onTestFinished(() => worker.terminate().then(() => {}))
  return worker
}

export function startProcess(path: string): ChildProcess {
  const child = fork(file, [path], { execArgv })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

/** Returns the next report of a follower. The first one arrives when it has the first list. */
export async function report(follower: Worker | ChildProcess): Promise<FollowerReport> {
  const [next] = await once(follower, 'message')
  return next as FollowerReport
}

export function ask(follower: Worker | ChildProcess, task: FollowerTask = {}): Promise<FollowerReport> {
  const next = report(follower)
  if (follower instanceof Worker) follower.postMessage(task)
  else follower.send(task)
  return next
}

import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Backend, LeasesOfProcess } from '../test/replicas/leases.ts'
import { atMost, type Benchmark, contest, type Figure, inTurn, median, medianRatio } from './figures.ts'
import { startLeaseStore } from './lease-store.ts'
import type { Request, State } from './workers/replica.ts'

const KEYS = 100_000
const ROUNDS = 5
const REPEATS = 15
/** Two replicas own half of them each. */
const REPLICATED_KEYS = 20_000
const HANDOVERS = 3
const LEASE_MS = 10_000
const POLL_MS = 50
const DEADLINE_MS = 60_000
const BACKENDS: readonly Backend[] = ['postgres', 'redis', 'etcd', 'kubernetes']

/** What a controller costs, and how fast its keys move between processes. */
export const controllers: Benchmark = {
  name: 'controllers',
  about: `${KEYS} keys queued and run; the keys of one of two processes that share ${REPLICATED_KEYS}, with a lease of ${LEASE_MS / 1_000} s`,
  async run() {
    const figures = [...(await costs()), ...(await shares())]
    for (const backend of BACKENDS) figures.push(...(await moves(backend)))
    return figures
  },
}

async function costs(): Promise<readonly Figure[]> {
  const run = (name: string) => async () =>
    (await contest<{ ns: number }>('controllers', [name, String(KEYS), String(REPEATS)])).ns
  const results = await inTurn(ROUNDS, {
    loop: run('loop'),
    'p-queue': run('p-queue'),
    controller: run('controller'),
    replicas: run('replicas'),
  })
  const { controller = [], 'p-queue': pQueue = [], replicas = [] } = results
  const peers = Object.fromEntries(
    Object.entries(results).map(([name, each]) => [`${name} ns/run`, Math.round(median(each))]),
  )
  return [
    atMost(1, {
      name: 'enqueue and run a key, with a concurrency of 16',
      value: medianRatio(controller, pQueue),
      unit: '× p-queue',
      peers,
    }),
    atMost(1.25, {
      name: 'the same with replicas',
      value: medianRatio(replicas, controller),
      unit: '× without',
      peers: {},
    }),
  ]
}

async function shares(): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const members of [3, 50]) {
    const args = ['shares', String(KEYS), String(members)]
    const { unevenness } = await contest<{ unevenness: number }>('controllers', args)
    const name = `the share of each of ${members} replicas differs from the mean by at most`
    figures.push(atMost(10, { name, value: unevenness * 100, unit: '%', peers: {} }))
  }
  return figures
}

async function moves(backend: Backend): Promise<readonly Figure[]> {
  await using store = await startLeaseStore(backend)
  const options = { ...store.options, leaseMs: LEASE_MS }
  const handovers: (readonly number[])[] = []
  for (let nth = 0; nth < HANDOVERS; nth++) handovers.push(await move(options, 'SIGTERM'))
  const crash = await move(options, 'SIGKILL')
  const p99s = handovers.map((ms) => percentile(ms, 0.99))
  return [
    atMost(250, {
      name: `${backend}: from SIGTERM of the owner to the first run of a key in the other replica, p99`,
      value: median(p99s),
      unit: 'ms',
      peers: {
        'p50 ms': Math.round(median(handovers.map((ms) => percentile(ms, 0.5)))),
        keys: handovers[0]?.length ?? 0,
      },
    }),
    atMost(LEASE_MS + 1_000, {
      name: `${backend}: from kill -9 of the owner to the first run of its last key in the other replica`,
      value: percentile(crash, 1),
      unit: 'ms',
      peers: { 'first key ms': Math.round(percentile(crash, 0)), keys: crash.length },
    }),
  ]
}

/** Starts two replicas, and sends one of them a signal. Returns after how many milliseconds the other ran each of its keys. */
async function move(options: LeasesOfProcess, signal: NodeJS.Signals): Promise<readonly number[]> {
  using owner = new Replica(options)
  using heir = new Replica(options)
  const idle = async (condition: (ofOwner: State, ofHeir: State) => boolean): Promise<boolean> => {
    const [ofOwner, ofHeir] = [await owner.state(), await heir.state()]
    return ofOwner.waiting + ofHeir.waiting === 0 && condition(ofOwner, ofHeir)
  }
  await until('both to own keys', () => idle((a, b) => a.share > 0.3 && b.share > 0.3 && a.share + b.share > 0.99))
  owner.tell('change')
  heir.tell('change')
  await until('each key to run', () => idle((a, b) => a.run + b.run === REPLICATED_KEYS))
  const moving = (await owner.state()).run
  heir.tell('forget')
  await heir.state()
  const began = Number(process.hrtime.bigint() / 1_000n)
  owner.kill(signal)
  await until('all keys to run in the other replica', async () => (await heir.state()).run === moving)
  const times = await heir.times()
  heir.kill('SIGTERM')
  await Promise.all([owner.ended, heir.ended])
  return times.map((at) => (at - began) / 1_000).sort((a, b) => a - b)
}

class Replica implements Disposable {
  readonly #process: ChildProcess
  readonly ended: Promise<void>

  constructor(options: LeasesOfProcess) {
    const path = fileURLToPath(new URL('workers/replica.ts', import.meta.url))
    this.#process = spawn(process.execPath, [path, JSON.stringify({ ...options, keys: REPLICATED_KEYS })], {
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.ended = new Promise((resolve) => this.#process.on('close', () => resolve()))
  }

  state(): Promise<State> {
    return this.#ask('state')
  }

  times(): Promise<readonly number[]> {
    return this.#ask('times')
  }

  tell(request: Request): void {
    this.#process.send(request)
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  [Symbol.dispose](): void {
    this.#process.kill('SIGKILL')
  }

  #ask<R>(request: Request): Promise<R> {
    return new Promise((resolve) => {
      this.#process.once('message', (answer) => resolve(answer as R))
      this.#process.send(request)
    })
  }
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  for (const end = performance.now() + DEADLINE_MS; !(await condition()); await sleep(POLL_MS))
    if (performance.now() > end) throw new Error(`after ${DEADLINE_MS / 1_000} s still waiting for ${what}`)
}

/** Of sorted values. */
function percentile(values: readonly number[], part: number): number {
  return values[Math.ceil(part * values.length) - 1] ?? values[0] ?? Number.NaN
}

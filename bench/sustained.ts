import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { atLeast, atMost, type Benchmark, type Figure, inTurn, median, medianRatio } from './figures.ts'
import type { Engine } from './sustained/engine.ts'
import { engines } from './sustained/engines.ts'
import type { Question, Received, Written } from './workers/sustained.ts'

const ROUNDS = Number(process.env['LISTWATCH_BENCH_ROUNDS'] ?? 3)
const SECONDS = Number(process.env['LISTWATCH_BENCH_SECONDS'] ?? 2)
/** The rates of the first step and of the last one, in rows a second. */
const [FIRST, LAST] = [4_000, 4_000_000]
/** The rate at which the median of the ages is measured, in transactions a second. */
const CALM = 500
/** The age of the 99th of 100 rows, in milliseconds, that a rate may not exceed. */
const LONGEST_MS = 100
/** The search ends at two rates whose ratio is less. */
const PRECISION = 1.12
/** How often a rate is tried until the reader follows. */
const CHANCES = 3
/** A writer that reaches less of a rate than this is what limits the rate. */
const ENOUGH = 0.95

/** The highest rate of changes that a mirror follows within 100 ms, and that of a client without the library. */
export const sustained: Benchmark = {
  name: 'sustained',
  about: `row changes a second until their age in a handler passes ${LONGEST_MS} ms at p99, beside a bare client of the same server`,
  async run() {
    const figures: Figure[] = []
    for (const [name, load] of selected()) {
      const engine = await load()
      await using running = await engine.start()
      await loaded(name, running.address)
      for (const together of engine.together)
        figures.push(...(await figuresOf(name, engine, running.address, together)))
    }
    return figures
  },
}

async function loaded(engine: string, address: string): Promise<void> {
  if (address === '') return // Its rows are in the process of the reader.
  using writer = new Worker(engine, address)
  await writer.ask({ ask: 'load' })
}

/** All engines, or those in LISTWATCH_BENCH_ENGINES. */
function selected(): readonly (readonly [string, () => Promise<Engine>])[] {
  const names = process.env['LISTWATCH_BENCH_ENGINES']?.split(',')
  return Object.entries(engines).filter(([name]) => names?.includes(name) ?? true)
}

async function figuresOf(engineName: string, engine: Engine, address: string, together: number): Promise<Figure[]> {
  const run = (contestant: 'listwatch' | 'bare') => () => measure(engineName, address, contestant, together)
  const bare = engine.follow === undefined ? {} : { bare: run('bare') }
  const results = await inTurn(ROUNDS, { listwatch: run('listwatch'), ...bare })
  const of = (contestant: string, field: 'perSecond' | 'cpuMicros' | 'medianMs' = 'perSecond'): readonly number[] =>
    (results[contestant] ?? []).map((each) => each[field])
  const cpuOf = (contestant: string): number => Math.round(10 * median(of(contestant, 'cpuMicros'))) / 10
  const rate = Math.round(median(of('listwatch')))
  const name = `${engineName}, ${together === 1 ? '1 row' : `${together} rows`} a transaction`
  const limited = Object.values(results)
    .flat()
    .filter(({ isLimitedByWriter }) => isLimitedByWriter).length
  const least = together === engine.together.at(-1) ? engine.leastPerSecond : undefined
  const ofRate =
    least === undefined
      ? []
      : [
          atLeast(least, {
            name: `${name}, rate`,
            value: rate,
            unit: 'rows/s',
            peers: { 'listwatch CPU µs/row': cpuOf('listwatch') },
          }),
        ]
  if (engine.follow === undefined) return ofRate
  const ratio = atLeast(0.8, {
    name,
    value: medianRatio(of('listwatch'), of('bare')),
    unit: '× a bare client',
    peers: {
      'listwatch rows/s': rate,
      'bare client rows/s': Math.round(median(of('bare'))),
      'listwatch CPU µs/row': cpuOf('listwatch'),
      'bare client CPU µs/row': cpuOf('bare'),
      [`limited by the writer, of ${2 * ROUNDS} runs`]: limited,
    },
  })
  return [ratio, ...ofRate, ...(together === 1 ? latencyOf(engineName, engine, of) : [])]
}

/** The age of half of the rows at a low rate. */
function latencyOf(
  name: string,
  { mostLatency }: Engine,
  of: (contestant: string, field: 'medianMs') => readonly number[],
): Figure[] {
  if (mostLatency === undefined) return []
  const [own, bare] = [of('listwatch', 'medianMs'), of('bare', 'medianMs')]
  const peers = { 'listwatch p50 ms': median(own), 'bare client p50 ms': median(bare) }
  return [
    atMost(mostLatency, {
      name: `${name}, latency at ${CALM} transactions a second`,
      value: medianRatio(own, bare),
      unit: '× a bare client',
      peers,
    }),
  ]
}

interface Sustained {
  readonly perSecond: number
  /** CPU time of the reader, in microseconds for each row. */
  readonly cpuMicros: number
  /** The age of half of the rows at CALM transactions a second, in milliseconds. */
  readonly medianMs: number
  /** Whether the server or the writer was slower than the reader. */
  readonly isLimitedByWriter: boolean
}

/** Doubles the rate until it is too high, and bisects. */
async function measure(
  engine: string,
  address: string,
  contestant: 'listwatch' | 'bare',
  together: number,
): Promise<Sustained> {
  using reader = new Worker(engine, address)
  // The memory source is written in its process.
  using writer = address === '' ? reader : new Worker(engine, address)
  await reader.ask({ ask: 'follow', contestant })
  for (let warm = 0; warm < 2; warm++) await attempt(reader, writer, 2 * FIRST, together) // V8 compiles a function after many calls.
  const { medianMs } = await attempt(reader, writer, CALM, 1)
  let best: Sustained = { perSecond: 0, cpuMicros: 0, medianMs, isLimitedByWriter: false }
  let low = 0
  let high = Number.POSITIVE_INFINITY
  for (let rate = FIRST; rate < LAST && high / low > PRECISION; ) {
    const { perSecond, isFollowed, cpuMicros } = await bestOf(rate, () => attempt(reader, writer, rate, together))
    if (isFollowed && perSecond >= low)
      best = { perSecond, cpuMicros, medianMs, isLimitedByWriter: perSecond < ENOUGH * rate }
    if (best.isLimitedByWriter) break
    if (isFollowed) low = perSecond
    else high = rate
    rate = high === Number.POSITIVE_INFINITY ? rate * 2 : low === 0 ? high / 2 : Math.sqrt(low * high)
  }
  return best
}

interface Attempt {
  readonly perSecond: number
  readonly cpuMicros: number
  readonly medianMs: number
  readonly isFollowed: boolean
}

/** Repeats an attempt that failed: other programs may have taken the processor from the reader or the writer. */
async function bestOf(rate: number, run: () => Promise<Attempt>): Promise<Attempt> {
  let best: Attempt | undefined
  for (let chances = CHANCES; chances > 0; chances--) {
    const attempt = await run()
    if (attempt.isFollowed && (best?.isFollowed !== true || attempt.perSecond > best.perSecond)) best = attempt
    best ??= attempt
    if (best.isFollowed && best.perSecond >= ENOUGH * rate) break
  }
  return best ?? (await run())
}

/** Writes at a rate for some seconds. */
async function attempt(reader: Worker, writer: Worker, perSecond: number, together: number): Promise<Attempt> {
  await reader.ask({ ask: 'reset' })
  const { rows, seconds } = await writer.ask<Written>({ ask: 'write', perSecond, seconds: SECONDS, together })
  const question = { ask: 'received', withinMs: LONGEST_MS } as const
  let received = await reader.ask<Received>(question)
  for (let waits = 0; received.rows < rows && waits < 100; waits++) {
    await sleep(20)
    const { rows: before } = received
    received = await reader.ask<Received>(question)
    if (received.rows === before && waits > 10) break // Changes of one row were merged.
  }
  const { inTime, medianMs } = received
  if (process.env['LISTWATCH_DEBUG'] === '1')
    console.error(
      `${Math.round(perSecond)} rows/s: wrote ${rows}, received ${received.rows}, in time ${inTime}, cpu ${received.cpuMicros / received.rows}`,
    )
  const cpuMicros = received.cpuMicros / received.rows
  return { perSecond: rows / seconds, cpuMicros, medianMs, isFollowed: inTime >= 0.99 * rows }
}

/** A process that follows or writes. */
class Worker implements Disposable {
  readonly #child: ReturnType<typeof fork>

  constructor(engine: string, address: string) {
    const path = fileURLToPath(new URL('workers/sustained.ts', import.meta.url))
    const env = { ...process.env, NODE_ENV: 'production' } // Rows are not frozen then.
    this.#child = fork(path, [engine, address], { execArgv: ['--disable-warning=ExperimentalWarning'], env })
  }

  ask<R>(question: Question): Promise<R> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void => reject(new Error(`a worker ended with code ${code}`))
      this.#child.once('exit', ended)
      this.#child.once('message', (answer) => {
        this.#child.off('exit', ended)
        resolve(answer as R)
      })
      this.#child.send(question)
    })
  }

  [Symbol.dispose](): void {
    this.#child.kill()
  }
}

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atLeast, atMost, type Benchmark, contest, type Figure, inTurn, median, medianRatio } from './figures.ts'

const ROWS = 1_000_000
const ROUNDS = 5
const PER_SECOND = 2_000
/** V8's default sizes: a larger young generation makes its collections fewer and longer. */
const DEFAULT_HEAP = ['--expose-gc', '--disable-warning=ExperimentalWarning']

interface Result {
  readonly rows: number
  readonly cpuMs: number
}

/** A table of a SQLite file: listed, followed and written. */
export const sqlite: Benchmark = {
  name: 'sqlite',
  about: `a table of ${ROWS} rows with two indexes, against a SELECT into a Map; commits with synchronous = NORMAL`,
  async run() {
    const folder = await mkdtemp(join(tmpdir(), 'listwatch-bench-'))
    try {
      const path = join(folder, 'bench.db')
      const run = <R>(task: string): Promise<R> => contest('sqlite', [task, path], DEFAULT_HEAP)
      await contest('sqlite', ['load', path, String(ROWS)], DEFAULT_HEAP)
      const lists = await inTurn(ROUNDS, {
        listwatch: () => run<Result>('list'),
        query: () => run<Result>('query'),
      })
      const writes = await inTurn(ROUNDS, {
        logged: () => run<Result>('write-logged'),
        indexed: () => run<Result>('write-indexed'),
        plain: () => run<Result>('write-plain'),
      })
      return [listFigure(lists), await latencyFigure(run), writersFigure(writes), await blockFigure(run)]
    } finally {
      await rm(folder, { recursive: true })
    }
  },
}

type Results = Readonly<Record<string, readonly Result[]>>

/** Rows for each millisecond of CPU time, which other programs of the machine change less than the time. */
function rates(results: Results, contestant: string): readonly number[] {
  return (results[contestant] ?? []).map(({ rows, cpuMs }) => rows / cpuMs)
}

function listFigure(results: Results): Figure {
  const perSecond = (contestant: string): number => Math.round(median(rates(results, contestant)) * 1_000)
  return atLeast(0.7, {
    name: 'sqlite list',
    value: medianRatio(rates(results, 'listwatch'), rates(results, 'query')),
    unit: '× a SELECT into a Map',
    peers: { 'listwatch rows/CPU s': perSecond('listwatch'), 'SELECT rows/CPU s': perSecond('query') },
  })
}

async function latencyFigure(run: <R>(task: string) => Promise<R>): Promise<Figure> {
  const { p50Ms, p99Ms, rows } = await run<{ p50Ms: number; p99Ms: number; rows: number }>('latency')
  return atMost(1, {
    name: `sqlite, commit to handler of another process at ${PER_SECOND} transactions a second, p50`,
    value: p50Ms,
    unit: 'ms',
    peers: { 'p99 ms': p99Ms, 'notified one by one': rows },
  })
}

function writersFigure(results: Results): Figure {
  const micros = (contestant: string): number => Math.round(10_000 / median(rates(results, contestant))) / 10
  return atLeast(1, {
    name: 'sqlite writers with the change log',
    value: medianRatio(rates(results, 'logged'), rates(results, 'indexed')),
    unit: '× with one more index on the updated column instead',
    peers: {
      'CPU µs/commit': micros('logged'),
      'one more index, CPU µs/commit': micros('indexed'),
      'neither, CPU µs/commit': micros('plain'),
    },
  })
}

async function blockFigure(run: <R>(task: string) => Promise<R>): Promise<Figure> {
  const blocks: { longestMs: number; p999Ms: number; pauseMs: number; seconds: number }[] = []
  for (let round = 0; round < 3; round++) blocks.push(await run('block'))
  const middle = (field: 'longestMs' | 'p999Ms' | 'pauseMs' | 'seconds'): number =>
    Math.round(10 * median(blocks.map((each) => each[field]))) / 10
  return atMost(50, {
    name: `sqlite, longest block of a list of ${ROWS} rows`,
    value: middle('longestMs'),
    unit: 'ms blocked',
    peers: { 'p99.9 ms': middle('p999Ms'), 'longest GC pause ms': middle('pauseMs'), seconds: middle('seconds') },
  })
}

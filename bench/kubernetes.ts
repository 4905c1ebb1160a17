import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { atLeast, atMost, type Benchmark, contest, type Figure, inTurn, median, medianRatio } from './figures.ts'

const OBJECTS = 50_000
const ROUNDS = 5

interface Phase {
  readonly ms: number
  readonly cpuMs: number
  readonly stallMs: number
  readonly peakMb: number
}

interface Result {
  readonly list: Phase
  readonly watch: Phase
  readonly size: number
}

type Runs = readonly Result[]

/** Pods of an API server, which another process plays: read once, and each changed once. */
export const kubernetes: Benchmark = {
  name: 'kubernetes',
  about: `${OBJECTS} pods of 1.5 KB with an index by namespace and one handler, against JSON.parse + Map.set without a library`,
  async run() {
    const server = await startServer()
    try {
      const url = `http://127.0.0.1:${server.port}`
      // The sizes of V8's own choosing: memory is measured.
      const run = (name: string) => () => contest<Result>('kubernetes', [name, url, String(OBJECTS)], ['--expose-gc'])
      const runs = await inTurn(ROUNDS, {
        floor: run('floor'),
        'floor-streamed': run('floor-streamed'),
        listwatch: run('listwatch'),
        'listwatch-streamed': run('listwatch-streamed'),
        'client-node': run('client-node'),
      })
      return figuresOf(runs)
    } finally {
      server.stop()
    }
  },
}

function figuresOf(runs: Readonly<Record<string, Runs>>): readonly Figure[] {
  const of = (name: string, phase: 'list' | 'watch', value: keyof Phase): readonly number[] =>
    (runs[name] ?? []).map((result) => result[phase][value])
  const perSecond = (name: string, phase: 'list' | 'watch'): number =>
    Math.round((OBJECTS / median(of(name, phase, 'ms'))) * 1_000)
  const middle = (name: string, value: keyof Phase): number => Math.round(median(of(name, 'list', value)))
  const ratio = (name: string, floor: string, phase: 'list' | 'watch', goal: number, title: string): Figure =>
    atLeast(goal, {
      name: title,
      value: medianRatio(of(floor, phase, 'ms'), of(name, phase, 'ms')),
      unit: '× the floor',
      peers: {
        'listwatch /s': perSecond(name, phase),
        'floor /s': perSecond(floor, phase),
        'client-node /s': perSecond('client-node', phase),
      },
    })
  const most = (goal: number, value: 'stallMs' | 'peakMb', title: string, unit: string): Figure =>
    atMost(goal, {
      name: title,
      value: Math.max(middle('listwatch', value), middle('listwatch-streamed', value)),
      unit,
      peers: { floor: middle('floor', value), 'client-node': middle('client-node', value) },
    })
  return [
    ratio('listwatch', 'floor', 'list', 0.85, 'kubernetes list'),
    ratio('listwatch-streamed', 'floor-streamed', 'list', 0.85, 'kubernetes streamed list'),
    ratio('listwatch', 'floor', 'watch', 0.9, 'kubernetes watch'),
    most(50, 'stallMs', 'kubernetes list, longest stall', 'ms'),
    most(300, 'peakMb', 'kubernetes list, peak of memory', 'MiB'),
  ]
}

/** In another process: the measured one pays for nothing but what it receives. */
async function startServer(): Promise<{ readonly port: number; stop(): void }> {
  const path = fileURLToPath(new URL('workers/kubernetes-server.ts', import.meta.url))
  const child = spawn(process.execPath, [path, String(OBJECTS)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const port = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`the server ended with code ${code}`)))
    child.stdout.setEncoding('utf8').on('data', (text: string) => resolve((JSON.parse(text) as { port: number }).port))
  })
  return { port, stop: () => child.kill() }
}

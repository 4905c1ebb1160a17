import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atLeast, atMost, type Benchmark, contest, type Figure, inTurn, median, medianRatio } from './figures.ts'
import { buildPeers, runPeer } from './peers.ts'
import { startServer } from './server-process.ts'

const OBJECTS = 50_000
const SERVER = 'kubernetes-server'
/** One run on a shared machine is off by a tenth and more: what is a ratio has many. */
const ROUNDS = { list: 21, streamed: 9, others: 5 }
/** The young generation that V8 allowed itself until Node 22. */
const SMALL = 'a semi-space of 16 MiB'
const withSmall = (name: string): string => `${name}, ${SMALL}`

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
    const programs = await buildPeers()
    await using folder = await temporaryFolder()
    const go = programs.get('client-go')
    if (go !== undefined) await encode(go, folder.path)
    const server = await startServer(SERVER, go === undefined ? [String(OBJECTS)] : [String(OBJECTS), folder.path])
    try {
      const url = `http://127.0.0.1:${server.port}`
      const peer = (name: string, ...first: readonly string[]) => {
        const program = programs.get(name)
        const all = [...first, url, String(OBJECTS)]
        return program === undefined ? {} : { [[name, ...first].join(' ')]: () => runPeer<Result>(program, all) }
      }
      // The sizes of V8's own choosing: memory is measured.
      const run =
        (name: string, ...flags: readonly string[]) =>
        () =>
          contest<Result>('kubernetes', [name, url, String(OBJECTS)], ['--expose-gc', ...flags])
      const runs = {
        ...(await inTurn(ROUNDS.list, { floor: run('floor'), listwatch: run('listwatch') })),
        ...(await inTurn(ROUNDS.streamed, {
          'floor-streamed': run('floor-streamed'),
          'listwatch-streamed': run('listwatch-streamed'),
        })),
        ...(await inTurn(ROUNDS.others, {
          [withSmall('listwatch')]: run('listwatch', '--max-semi-space-size=16'),
          'client-node': run('client-node'),
          ...peer('client-go', 'json'),
          ...peer('client-go', 'protobuf'),
          ...peer('kube-rs'),
        })),
      }
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
  const others = Object.keys(runs).filter((name) => !/^(floor|listwatch)/.test(name))
  // What a busy machine leaves as it is.
  const cpu = (name: string, phase: 'list' | 'watch'): number => Math.round(median(of(name, phase, 'cpuMs')))
  const middle = (name: string, value: keyof Phase): number => Math.round(median(of(name, 'list', value)))
  const ratio = (name: string, floor: string, phase: 'list' | 'watch', goal: number, title: string): Figure =>
    atLeast(goal, {
      name: title,
      value: medianRatio(of(floor, phase, 'ms'), of(name, phase, 'ms')),
      unit: '× the floor',
      peers: {
        'listwatch /s': perSecond(name, phase),
        'floor /s': perSecond(floor, phase),
        ...Object.fromEntries(others.map((other) => [`${other} /s`, perSecond(other, phase)])),
        'listwatch CPU ms': cpu(name, phase),
        'floor CPU ms': cpu(floor, phase),
        ...Object.fromEntries(others.map((other) => [`${other} CPU ms`, cpu(other, phase)])),
      },
    })
  const most = (
    goal: number,
    value: 'stallMs' | 'peakMb',
    title: string,
    unit: string,
    names: readonly string[],
  ): Figure =>
    atMost(goal, {
      name: title,
      value: Math.max(...names.map((name) => middle(name, value))),
      unit,
      peers: {
        floor: middle('floor', value),
        'floor-streamed': middle('floor-streamed', value),
        ...Object.fromEntries(others.map((name) => [name, middle(name, value)]).filter(([, n]) => Number.isFinite(n))),
      },
    })
  const ours = ['listwatch', 'listwatch-streamed']
  const fastest = Math.max(...others.map((name) => perSecond(name, 'watch')))
  const besideFastest = atLeast(1, {
    name: 'kubernetes watch, beside the fastest peer',
    value: perSecond('listwatch', 'watch') / fastest,
    unit: '× the fastest peer',
    peers: Object.fromEntries(['listwatch', ...others].map((name) => [`${name} /s`, perSecond(name, 'watch')])),
  })
  return [
    ratio('listwatch', 'floor', 'list', 0.95, 'kubernetes list'),
    ratio('listwatch-streamed', 'floor-streamed', 'list', 0.95, 'kubernetes streamed list'),
    ratio('listwatch', 'floor', 'watch', 0.9, 'kubernetes watch'),
    besideFastest,
    most(30, 'stallMs', 'kubernetes list, longest stall', 'ms', ours),
    // Since Node 24 V8 has a larger young generation. With it, a parser of single items uses 90 MiB more.
    most(300, 'peakMb', `kubernetes list, peak of memory with ${SMALL}`, 'MiB', [withSmall('listwatch')]),
    most(
      middle('floor-streamed', 'peakMb'),
      'peakMb',
      'kubernetes list, peak of memory beside a bare loop',
      'MiB',
      ours,
    ),
  ]
}

/** Writes the server's protobuf responses into the folder. */
async function encode(go: string, folder: string): Promise<void> {
  const server = await startServer(SERVER, [String(OBJECTS)])
  try {
    await runPeer(go, ['encode', `http://127.0.0.1:${server.port}`, folder, String(OBJECTS)])
  } finally {
    server.stop()
  }
}

async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'listwatch-bench-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

import { atMost, type Benchmark, contest, type Figure } from './figures.ts'
import { startServer } from './server-process.ts'

const OBJECTS = 1_000_000
/** Objects that are kept are copied by each collection of the young generation, and garbage of large ones needs room in it. */
const SEMI_SPACE_MB = 16

interface Result {
  readonly ms: number
  readonly cpuMs: number
  readonly peakMb: number
  readonly settledMb: number
  readonly heapMb: number
}

/** A million pods that another process generates. Each contestant lists them once. */
export const kubernetesMemory: Benchmark = {
  name: 'kubernetes-memory',
  about: `${OBJECTS} pods of 10 KB, of which transform keeps five fields, with an index by namespace, one handler and a semi-space of ${SEMI_SPACE_MB} MiB; resident memory, settled after a garbage collection`,
  async run() {
    const server = await startServer('kubernetes-memory-server', [String(OBJECTS)])
    try {
      const url = `http://127.0.0.1:${server.port}`
      const run = (name: string): Promise<Result> =>
        contest<Result>(
          'kubernetes-memory',
          [name, url, String(OBJECTS)],
          ['--expose-gc', `--max-semi-space-size=${SEMI_SPACE_MB}`],
        )
      return figuresOf({ intern: await run('intern'), plain: await run('plain') })
    } finally {
      server.stop()
    }
  },
}

function figuresOf({ intern, plain }: Readonly<Record<'intern' | 'plain', Result>>): readonly Figure[] {
  const most = (goal: number, value: 'peakMb' | 'settledMb', what: string): Figure =>
    atMost(goal, {
      name: `kubernetes, ${what} of memory with intern`,
      value: Math.round(intern[value]),
      unit: 'MiB',
      peers: {
        'without intern': Math.round(plain[value]),
        'heap with intern': Math.round(intern.heapMb),
        'heap without intern': Math.round(plain.heapMb),
        'with intern /s': perSecond(intern),
        'without intern /s': perSecond(plain),
        'with intern CPU ms': Math.round(intern.cpuMs),
        'without intern CPU ms': Math.round(plain.cpuMs),
      },
    })
  return [most(600, 'peakMb', 'peak'), most(450, 'settledMb', 'settled size')]
}

function perSecond({ ms }: Result): number {
  return Math.round((OBJECTS / ms) * 1_000)
}

import { atMost, type Benchmark, contest, type Figure } from './figures.ts'

const OBJECTS = 100_000
const PERIOD_MS = 10_000
/** The number of keys in one transaction. */
const TOGETHER = 100

interface Result {
  /** The part of a core that audits used. */
  readonly share: number
  /** Milliseconds of CPU for each audit. */
  readonly auditMs: number
  /** Milliseconds from one audit to the next. */
  readonly everyMs: number
  /** Milliseconds from a write whose event was lost to the error of the audit. */
  readonly alarmMs: number
}

/**
 * How much of a core audits use, and how soon they find a lost event. Their rest is at least 100 times their CPU time, and
 * 10 times the duration of their reading, so a server that takes a second to send all keys is audited less often.
 */
export const audit: Benchmark = {
  name: 'audit',
  about: `${OBJECTS} objects without changes, audited every ${PERIOD_MS / 1_000} s, until a write whose event is lost`,
  async run() {
    const run = (...args: readonly string[]) =>
      contest<Result>('audit', [args[0] ?? '', String(OBJECTS), String(PERIOD_MS), ...args.slice(1)])
    const pages = await run('pages')
    const figures = figuresOf('from JSON', pages)
    const server = await startEtcd()
    if (server === undefined) return figures
    try {
      const result = await run('etcd', server.endpoint)
      return [...figures, ...figuresOf('from etcd', result)]
    } finally {
      await server[Symbol.asyncDispose]()
    }
  },
}

function figuresOf(from: string, { share, auditMs, everyMs, alarmMs }: Result): readonly Figure[] {
  const peers = { 's between audits': Math.round(everyMs / 1_000) }
  return [
    atMost(1, { name: `share of a core, audits of keys ${from}`, value: share * 100, unit: '%', peers }),
    atMost(100, { name: `CPU of an audit of ${OBJECTS} keys ${from}`, value: auditMs, unit: 'ms', peers: {} }),
    atMost(PERIOD_MS / 1_000, {
      name: `alarm after a lost event, ${from}`,
      value: alarmMs / 1_000,
      unit: 's',
      peers: {},
    }),
  ]
}

/** Starts etcd with all keys; undefined if the server is missing. */
async function startEtcd() {
  await import(String(new URL('../scripts/typescript.mjs', import.meta.url)))
  const { locateServer } = await import('../test/servers/locate.ts')
  const { EtcdServer } = await import('../test/servers/etcd.ts')
  const server = await locateServer('etcd 3.6')
  if (server.type === 'missing') return undefined
  const running = await EtcdServer.start({ server })
  const client = running.client()
  const value = Buffer.alloc(256, 120)
  for (let begin = 0; begin < OBJECTS; begin += TOGETHER) {
    const puts = Array.from({ length: TOGETHER }, (_, i) =>
      client.put(`/bench/${String(begin + i).padStart(8, '0')}`).value(value),
    )
    await client
      .if('/none', 'Create', '==', 0)
      .then(...puts)
      .commit()
  }
  return running
}

import { atLeast, type Benchmark, contest, inTurn, median, medianRatio } from './figures.ts'
import { foundServer } from './found-server.ts'

const KEYS = 200_000
/** The number of keys in one transaction. Their events have the same revision. */
const TOGETHER = 100
const ROUNDS = 11

interface Result {
  readonly ms: number
  readonly size: number
}

/** A prefix of etcd: read once, and its history caught up with. */
export const etcd: Benchmark = {
  name: 'etcd',
  about: `${KEYS} keys of 256 bytes, listed and caught up with, against a bare drain over grpc-js with the same decoder`,
  async run() {
    const server = await foundServer('etcd 3.6')
    const { EtcdServer } = await import('../test/servers/etcd.ts')
    const running = await EtcdServer.start({ server })
    try {
      const { version = '' } = await contest<{ version?: string }>('etcd', ['begin', running.endpoint, '', ''])
      const last = await load(running.client())
      const results: Record<string, readonly number[]> = {}
      for (const job of ['list', 'watch']) {
        const run = (contestant: string) => () =>
          contest<Result>('etcd', [`${job}-${contestant}`, running.endpoint, version, last])
        const runs = await inTurn(ROUNDS, { floor: run('floor'), listwatch: run('listwatch'), etcd3: run('etcd3') })
        for (const [name, all] of Object.entries(runs)) {
          const wrong = all.find(({ size }) => size !== KEYS)
          if (wrong !== undefined) throw new Error(`${job} by ${name} returned ${wrong.size} of ${KEYS} keys`)
          results[`${job} ${name}`] = all.map(({ ms }) => ms)
        }
      }
      return ['list', 'watch'].map((job) => {
        const ms = (name: string): readonly number[] => results[`${job} ${name}`] ?? []
        const perSecond = (name: string): number => Math.round((KEYS / median(ms(name))) * 1_000)
        return atLeast(job === 'list' ? 0.92 : 0.9, {
          name: job === 'list' ? 'etcd list' : 'etcd catch-up',
          value: medianRatio(ms('floor'), ms('listwatch')),
          unit: '× a bare drain',
          peers: {
            'listwatch /s': perSecond('listwatch'),
            'drain /s': perSecond('floor'),
            [job === 'list' ? 'etcd3 getAll /s' : 'etcd3 Watcher /s']: perSecond('etcd3'),
          },
        })
      })
    } finally {
      await running[Symbol.asyncDispose]()
    }
  },
}

/** Fills the prefix. Returns the revision of the last transaction. */
async function load(client: import('etcd3').Etcd3): Promise<string> {
  const value = Buffer.alloc(256, 120)
  let last = ''
  for (let at = 0; at < KEYS; at += TOGETHER) {
    const success = Array.from({ length: TOGETHER }, (_, i) => ({
      request_put: { key: Buffer.from(`/bench/${at + i}`), value },
    }))
    last = (await client.kv.txn({ success })).header.revision
  }
  return last
}

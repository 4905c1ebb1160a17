import { randomInt } from 'node:crypto'
import { Client } from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { installLeases } from '../../adapters/postgres/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { useEtcd } from '../etcd/support.js'
import { useKubernetes } from '../kubernetes/support.js'
import { useNats } from '../nats/support.js'
import { Database, useServer } from '../postgres/support.js'
import { useRedis } from '../redis/support.js'
import { describeKubernetes, describeServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { drawn } from '../support/draw.js'
import { type CampaignOptions, ReplicaCampaign } from './campaign.js'
import { flawsOf, type Note } from './judge.js'

const SEED = Number(process.env['LISTWATCH_REPLICAS_SEED'] ?? randomInt(1_000_000))
const DISTURBED_MS = Number(process.env['LISTWATCH_REPLICAS_SECONDS'] ?? 20) * 1_000
/** Rule L4: each key has an owner after 2.3 leases. Its runs, a busy machine and connections need time too. */
const LEASES = 2.3
const MARGIN_MS = 5_000
const backends = drawn(['postgres', 'redis', 'etcd', 'nats', 'kubernetes'])

beforeAll(ensureBuilt)

describe('[L1][L3][L4][L5] three processes are killed, stopped, cut off and ended: one runs a key, fences grow, keys get an owner', () => {
  if (backends.includes('postgres'))
    describeServer('postgres 18', 'postgres', useServer, (at) => {
      test('with leases in Postgres', async () => {
        const { port } = at.server
        const client = new Client(new Database('postgres', port).config())
        await client.connect()
        await installLeases(client)
        await client.end()
        await disturbed({ backend: 'postgres', leasesPort: port })
      })
    })

  if (backends.includes('redis'))
    describeServer('redis 7.0', 'redis', useRedis, (own) => {
      test('with leases in Redis', () => disturbed({ backend: 'redis', leasesPort: own.redis.port }))
    })

  if (backends.includes('etcd'))
    describeServer('etcd 3.6', 'etcd', useEtcd, (own) => {
      test('with leases in etcd', () => disturbed({ backend: 'etcd', leasesPort: own.etcd.port }))
    })

  if (backends.includes('nats'))
    describeServer('nats 2.15', 'nats', useNats, (own) => {
      test('with leases in NATS', () => disturbed({ backend: 'nats', leasesPort: own.nats.port }))
    })

  if (backends.includes('kubernetes'))
    describeKubernetes('kubernetes', useKubernetes, (own) => {
      test('with leases in Kubernetes', async () => {
        const kubeConfig: CampaignOptions['kubeConfig'] = (port) => own.kubernetes.kubeConfig({ port })
        await disturbed({ backend: 'kubernetes', leasesPort: own.kubernetes.api.port, kubeConfig })
      })
    })
})

async function disturbed(options: Omit<CampaignOptions, 'random'>): Promise<void> {
  const replay = `LISTWATCH_REPLICAS_SEED=${SEED}`
  await using campaign = await ReplicaCampaign.start({ ...options, random: new SeededRandom(SEED) })
  const { leaseMs } = campaign
  // The first run begins after the first lease.
  await campaign.settle(LEASES * leaseMs + MARGIN_MS)
  await campaign.disturb(DISTURBED_MS)
  const settledMs = await campaign.settle(LEASES * leaseMs + MARGIN_MS)
  const { flaws, refused, runs } = campaign.judge()
  const faults = JSON.stringify(campaign.happened)
  process.stdout.write(
    `replicas: ${options.backend}, ${replay}, ${faults}, ${runs} runs, ${refused} refused writes, settled after ${Math.round(settledMs)} ms\n`,
  )
  expect(flaws, `${replay}\n${campaign.output}`).toEqual([])
  expect(Object.keys(campaign.happened)).toHaveLength(4)
}

describe('the judge', () => {
  const start = (at: number, replica: string, fence: number): Note => {
    return { type: 'start', at, replica, run: 1, key: 'a', fence }
  }
  const valid = (at: number, replica: string): Note => ({ type: 'valid', at, replica, run: 1 })

  test('accepts a run that begins after the last look at the signal of another', () => {
    expect(flawsOf([start(1, 'x', 1), valid(5, 'x'), start(6, 'y', 2), valid(9, 'y')])).toEqual([])
  })

  test('refuses two runs at the same time, and a fence that does not grow', () => {
    const both = expect.stringContaining('both ran for 1 µs')
    const fence = expect.stringContaining('the fence 1 follows 1')
    expect(flawsOf([start(1, 'x', 1), start(5, 'y', 2), valid(6, 'x')])).toEqual([both])
    expect(flawsOf([start(1, 'x', 1), valid(2, 'x'), start(5, 'y', 1)])).toEqual([fence])
  })
})

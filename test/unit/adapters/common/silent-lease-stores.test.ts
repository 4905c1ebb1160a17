import { createServer } from 'node:net'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { etcdLeases } from '../../../../adapters/etcd/index.js'
import { redisLeases } from '../../../../adapters/redis/index.js'
import type { Leases } from '../../../../src/contract/leases.js'
import { portOf } from '../../../support/listening.js'

const settings = { group: 'orders', leaseMs: 501 } as const

test.each<readonly [string, (port: number) => Leases]>([
  ['etcd', (port) => etcdLeases({ ...settings, endpoints: `127.0.0.1:${port}` })],
  ['Redis', (port) => redisLeases({ ...settings, client: new Redis({ host: '127.0.0.1', port, lazyConnect: true }) })],
])('the error of a lease store in %s that does not respond has whole milliseconds', async (_name, leasesAt) => {
  const port = await portOf(createServer())
  const session = leasesAt(port).open()
  const record = { member: 'a', renewal: 0, members: [], holds: [] }
  await expect(session.renew(record, [], new AbortController().signal)).rejects.toThrow(
    `no response from 127.0.0.1:${port} for 150 ms`,
  )
  await session.close()
})

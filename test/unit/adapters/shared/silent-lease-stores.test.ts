import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { etcdLeases } from '../../../../adapters/etcd/index.js'
import { redisLeases } from '../../../../adapters/redis/index.js'
import type { Leases } from '../../../../src/contract/leases.js'

/** The port of a server that accepts connections and never responds. */
async function silentPort(): Promise<number> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = Object(server.address()) as { readonly port: number }
  return port
}

const settings = { group: 'orders', leaseMs: 501 } as const

test.each<readonly [string, (port: number) => Leases]>([
  ['etcd', (port) => etcdLeases({ ...settings, endpoints: `127.0.0.1:${port}` })],
  ['Redis', (port) => redisLeases({ ...settings, client: new Redis({ host: '127.0.0.1', port, lazyConnect: true }) })],
])('the error of a lease store in %s that does not respond has whole milliseconds', async (_name, leasesAt) => {
  const port = await silentPort()
  const session = leasesAt(port).open()
  const record = { member: 'a', renewal: 0, members: [], holds: [] }
  await expect(session.renew(record, [], new AbortController().signal)).rejects.toThrow(
    `no response from 127.0.0.1:${port} for 150 ms`,
  )
  await session.close()
})

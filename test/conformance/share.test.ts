import { subscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { HttpSource } from '../../serving/http/index.js'
import { type SharedServing, serveShared, sharedSource } from '../../serving/share/index.js'
import { createInformer } from '../../src/index.js'
import { type ConformanceOptions, describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { type Item, type MemorySubject, memorySubject } from './memory-harness.js'

const unsupported = {
  compaction: 'a write removes history only together with later writes (test/unit/serving/http has the case)',
  corruption: 'a shared mirror keeps the last good object',
  versions: 'a follower lists objects',
}

/** Connections to Unix sockets of this process. */
const connections = new Set<Socket>()
subscribe('net.server.socket', (message) => {
  const { socket } = message as { readonly socket: Socket }
  if (socket.remoteAddress !== undefined) return
  connections.add(socket)
  socket.once('close', () => connections.delete(socket))
})

/** A memory source, an informer that mirrors it and is shared, and a follower of that. */
async function subject(
  options: ConformanceOptions,
  follow: (share: SharedServing, upstream: MemorySubject) => Promise<HttpSource<Item>>,
) {
  const upstream = memorySubject(options, () => informer.fresh({ timeoutMs: 10_000 }))
  const informer = createInformer({ source: upstream.memory })
  const share = serveShared(informer, { ...options, historyBytes: 2 * 1024 * 1024 })
  await informer.start().synced()
  return {
    source: await follow(share, upstream),
    read: ({ value }: Item) => value,
    write: upstream.write,
    ...(upstream.begin && { begin: upstream.begin }),
    async restore() {
      await upstream.restore?.()
      await informer.fresh({ timeoutMs: 10_000 })
    },
    async dispose() {
      await share.close()
      await informer.stop()
    },
  }
}

const overPort: ListerWatcherHarness<Item> = {
  unsupported: { ...unsupported, outage: 'a port is not lost while its threads run' },
  async create(options) {
    let isUsed = (): boolean => false
    const created = await subject(options, async (share, { memory }) => {
      const port = share.port()
      isUsed = () => port.hasRef()
      return sharedSource<Item>({ port, heartbeatMs: options.heartbeatMs, upstream: memory })
    })
    return { ...created, connections: () => Number(isUsed()) }
  },
}

const overSocket: ListerWatcherHarness<Item> = {
  unsupported,
  async create(options) {
    const folder = mkdtempSync(join(tmpdir(), 'share-'))
    const path = join(folder, 'items.sock')
    const created = await subject(options, async (share, { memory }) => {
      await share.listen(path)
      return sharedSource<Item>({ path, heartbeatMs: options.heartbeatMs, upstream: memory })
    })
    return {
      ...created,
      connections: () => connections.size,
      disconnect: () => {
        for (const socket of connections) socket.destroy()
      },
      async dispose() {
        await created.dispose()
        rmSync(folder, { recursive: true })
      },
    }
  },
}

await describeListerWatcher('a share over a port', overPort)
await describeListerWatcher('a share over a Unix socket', overSocket)

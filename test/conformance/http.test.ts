import { createServer } from 'node:http'
import { httpSource, nodeListener, serveHttp } from '../../serving/http/index.js'
import { createInformer } from '../../src/index.js'
import { describeListerWatcher, type ListerWatcherHarness } from '../../testing/index.js'
import { listening } from '../support/listening.js'
import { type Item, memorySubject } from './memory-harness.js'

/** A memory source, an informer that mirrors it and is served over HTTP, and a follower of that. */
const httpHarness: ListerWatcherHarness<Item> = {
  unsupported: {
    compaction: 'a write removes history only together with later writes (test/unit/serving/http has the case)',
    corruption: 'a served mirror keeps the last good object',
    versions: 'a follower lists objects',
  },
  async create(options) {
    const upstream = memorySubject(options, () => informer.fresh({ timeoutMs: 10_000 }))
    const informer = createInformer({ source: upstream.memory })
    const mirror = serveHttp(informer, { ...options, historyBytes: 2 * 1024 * 1024 })
    const server = createServer(nodeListener(mirror))
    const url = await listening(server)
    await informer.start().synced()
    let open = 0
    server.on('connection', (socket) => {
      open++
      socket.once('close', () => open--)
    })
    const source = httpSource<Item>({ url, heartbeatMs: options.heartbeatMs, upstream: upstream.memory })
    return {
      source,
      read: ({ value }) => value,
      write: upstream.write,
      ...(upstream.begin && { begin: upstream.begin }),
      disconnect: () => server.closeAllConnections(),
      async restore() {
        await upstream.restore?.()
        await informer.fresh({ timeoutMs: 10_000 })
      },
      connections: () => open,
      async dispose() {
        await mirror.close()
        await informer.stop()
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  },
}

await describeListerWatcher('[V1][V11] an HTTP source', httpHarness)

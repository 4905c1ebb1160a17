// Runs in a browser. It uses only a bundle of listwatch and listwatch/memory, and posts its results.
import { createInformer, groupInformers } from 'listwatch'
import { memorySource } from 'listwatch/memory'

const seen: Record<string, unknown> = {}

async function run(): Promise<void> {
  seen['hasNode'] = ['process', 'Buffer', 'setImmediate', 'clearImmediate', 'require'].some(
    (name) => name in globalThis,
  )
  const source = memorySource<{ readonly tenant: string; readonly total: number }>({
    name: 'orders',
    heartbeatMs: 200,
    entries: [
      ['1', { tenant: 'acme', total: 1 }],
      ['2', { tenant: 'birch', total: 2 }],
    ],
  })
  const orders = createInformer({
    source,
    indexes: (ix) => ({ tenant: ix.equal((order) => order.tenant), total: ix.ordered((order) => order.total) }),
  })
  const told: string[] = []
  orders.subscribe({
    add: ({ key, origin }) => void told.push(`add ${key} ${origin}`),
    update: async ({ key, object, previous }) => void told.push(`update ${key} ${previous.total} → ${object.total}`),
    delete: ({ key }) => void told.push(`delete ${key}`),
  })
  const runs: string[] = []
  const controller = orders.reconcile(
    async (key, { lastObject }) => void runs.push(`${key}${lastObject ? ' deleted' : ''}`),
  )
  await orders.start().synced({ timeoutMs: 10_000 })
  seen['first'] = [orders.size, orders.by.tenant('acme'), orders.by.total({ gte: 2 })]

  await orders.waitFor(source.put('1', { tenant: 'acme', total: 10 }), { timeoutMs: 10_000 })
  const snapshot = orders.snapshot()
  source.disconnect()
  await orders.waitFor(source.delete('2'), { timeoutMs: 10_000 })
  await orders.fresh({ timeoutMs: 10_000 })
  seen['snapshot'] = [snapshot.size, orders.size]

  const stopping = new AbortController()
  for await (const { changes } of orders.changes({ signal: stopping.signal })) {
    if (changes.length === 0) continue
    seen['changes'] = changes.map(({ type, key, object }) => [type, key, object])
    break
  }
  await controller.synced({ timeoutMs: 10_000 })
  await orders.relist()

  const group = groupInformers([orders])
  await group.stop()
  seen['state'] = orders.status.state
  seen['reconnects'] = orders.status.reconnects
  seen['told'] = told
  seen['runs'] = runs
}

await run().catch((error: unknown) => (seen['error'] = error instanceof Error ? `${error.stack}` : String(error)))
await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) })

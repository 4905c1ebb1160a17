// Runs in a browser. It follows a mirror of the server that serves the page, and posts its results.
import { createInformer } from 'listwatch'
import { httpSource } from 'listwatch/http'

type Order = { readonly tenant: string; readonly total: number; readonly at?: Date; readonly bytes?: Uint8Array }

const seen: Record<string, unknown> = {}

async function run(): Promise<void> {
  seen['hasNode'] = ['process', 'Buffer', 'setImmediate', 'require'].some((name) => name in globalThis)
  const source = httpSource<Order>({
    url: new URL('/orders', String(Reflect.get(globalThis, 'location'))),
    heartbeatMs: 500,
  })
  const orders = createInformer({ source, indexes: (ix) => ({ tenant: ix.equal(({ tenant }) => tenant) }) })
  await orders.start().synced({ timeoutMs: 20_000 })
  seen['first'] = orders.by.tenant('acme').map(({ total }) => total)
  const { at, bytes } = orders.get('1') ?? {}
  seen['values'] = [at instanceof Date && at.getTime(), [...(bytes ?? [])]]
  await fetch('/write', { method: 'POST' })
  await orders.fresh({ timeoutMs: 20_000 })
  seen['later'] = orders.by.tenant('acme').map(({ total }) => total)
  await orders.stop()
  seen['state'] = orders.status.state
}

await run().catch((error: unknown) => (seen['error'] = error instanceof Error ? `${error.stack}` : String(error)))
await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) })

// Runs in a browser. Components follow a mirror of the server that serves the page, and the page posts what they showed.
import { createInformer } from 'listwatch'
import { httpSource } from 'listwatch/http'
import { useObject, useObjects, useStatus } from 'listwatch/react'
import { type ReactElement, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'

interface Order {
  readonly tenant: string
  readonly total: number
}

interface Container {
  readonly textContent: string
}

const source = httpSource<Order>({
  url: new URL('/orders', String(Reflect.get(globalThis, 'location'))),
  heartbeatMs: 500,
})
const orders = createInformer({ source, indexes: (ix) => ({ tenant: ix.equal(({ tenant }) => tenant) }) })
const renders = { acme: 0, birch: 0 }

function Tenant({ name }: { readonly name: 'acme' | 'birch' }): ReactElement {
  renders[name]++
  const ofTenant = useObjects(orders.by.tenant, name)
  return (
    <p>
      {name}: {ofTenant.map(({ total }) => total).join('+')} |
    </p>
  )
}

function Connection(): ReactElement {
  return (
    <p>
      {useStatus(orders).state}, order 1: {useObject(orders, '1')?.total} |
    </p>
  )
}

const seen: Record<string, unknown> = {}

async function run(): Promise<void> {
  const container = Reflect.get(globalThis, 'document').body as Container
  const shows = async (text: string): Promise<string> => {
    const deadline = Date.now() + 20_000
    while (!container.textContent.includes(text)) {
      if (Date.now() > deadline) throw new Error(`the page shows ${container.textContent} and not ${text}`)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    return container.textContent
  }
  const root = createRoot(container)
  root.render(
    <StrictMode>
      <Connection />
      <Tenant name="acme" />
      <Tenant name="birch" />
    </StrictMode>,
  )
  seen['before'] = await shows('idle')
  orders.start()
  seen['first'] = await shows('live')
  const { birch } = renders
  await fetch('/write', { method: 'POST' })
  seen['later'] = await shows('acme: 10')
  seen['rendersOfOthers'] = renders.birch - birch
  await orders.stop()
  seen['stopped'] = await shows('stopped')
}

await run().catch((error: unknown) => {
  seen['error'] = error instanceof Error ? `${error.stack}` : String(error)
})
await fetch('/seen', { method: 'POST', body: JSON.stringify(seen) })

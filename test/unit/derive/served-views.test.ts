import { expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { httpSource, serveHttp } from '../../../serving/http/index.js'
import { serveShared, sharedSource } from '../../../serving/share/index.js'
import { createInformer, derive } from '../../../src/index.js'
import { waitUntil } from '../../servers/wait-until.js'
import { contentOf } from '../../support/views.js'
import { fetchFrom } from '../serving/http/mirror.js'

test.each(['over HTTP', 'over a port'])(
  '[X1][X17] a view of two sources is served to followers %s, with each later change and epoch',
  { timeout: 20_000 },
  async (over) => {
    const orderSource = memorySource<{ readonly customer: string }>({
      name: 'orders',
      entries: [['1', { customer: 'a' }]],
    })
    const customerSource = memorySource<{ readonly name: string }>({
      name: 'customers',
      entries: [['a', { name: 'A' }]],
    })
    const orders = createInformer({ source: orderSource })
    const customers = createInformer({ source: customerSource })
    const view = derive({
      from: orders,
      reads: [customers],
      each: (o) => ({ name: customers.get(o.customer)?.name ?? null }),
    })
    for (const each of [orders, customers, view]) each.on('error', () => {}).start()
    await view.synced()
    const mirror = serveHttp(view, { heartbeatMs: 200 })
    const share = serveShared(view, { heartbeatMs: 200 })
    type Row = { readonly name: string | null }
    const fetch = fetchFrom(() => mirror)
    const source =
      over === 'over a port'
        ? sharedSource<Row>({ port: share.port(), heartbeatMs: 200 })
        : httpSource<Row>({ url: 'http://mirror.test/view', heartbeatMs: 200, fetch })
    const follower = createInformer({ source })
    await follower
      .on('error', () => {})
      .start()
      .synced()
    expect(contentOf(follower)).toEqual(new Map([['1', { name: 'A' }]]))
    customerSource.put('a', { name: 'B' })
    orderSource.put('2', { customer: 'z' })
    await waitUntil('the follower to have both changes', () => follower.get('1')?.name === 'B' && follower.size === 2)
    expect(contentOf(follower)).toEqual(contentOf(view))
    const { version = '' } = follower
    customerSource.restore([['a', { name: 'C' }]])
    await waitUntil('the follower to have the next epoch', () => follower.get('1')?.name === 'C')
    expect(await follower.waitFor(version).catch(({ code }) => code)).toBe('EPOCH_CHANGED')
    await view.relist()
    orderSource.delete('2')
    await waitUntil('the follower to have a change after a relist of the view', () => follower.size === 1)
    await Promise.all([follower.stop(), mirror.close(), share.close(), view.stop(), orders.stop(), customers.stop()])
  },
)

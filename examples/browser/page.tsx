// The page: an informer follows the mirror of the server, and the table renders what changed.
import { createInformer } from 'listwatch'
import { httpSource } from 'listwatch/http'
import { useObjects, useStatus } from 'listwatch/react'
import { memo, type ReactElement, useState } from 'react'
import { createRoot } from 'react-dom/client'

export interface Order {
  readonly id: string
  readonly tenant: string
  readonly total: number
  readonly status: 'open' | 'paid'
}

const orders = createInformer({
  source: httpSource<Order>({ url: new URL('/orders', window.location.href) }),
  indexes: (ix) => ({ byTotal: ix.compound((order) => [order.tenant, order.total]) }),
})
orders.on('error', (error) => console.warn(error.message))
orders.start()

function App(): ReactElement {
  const [tenant, setTenant] = useState('acme')
  const { state } = useStatus(orders)
  const ofTenant = useObjects(orders.by.byTotal, [tenant], { reverse: true, limit: 20 })
  const open = ofTenant.filter(({ status }) => status === 'open').length
  const options = ['acme', 'birch', 'cedar'].map((name) => <option key={name}>{name}</option>)
  const rows = ofTenant.map((order) => <Row key={order.id} order={order} />)
  return (
    <>
      <select onChange={(event) => setTenant(event.target.value)} value={tenant}>
        {options}
      </select>
      <h1>{`${tenant}: ${open} open orders (${state})`}</h1>
      <table>
        <tbody>{rows}</tbody>
      </table>
    </>
  )
}

// A row renders again if its own order has changed: the others are the same objects.
const Row = memo(({ order: { id, total, status } }: { readonly order: Order }): ReactElement => {
  const pay = (): void => void fetch(`/pay/${id}`, { method: 'POST' })
  const button = <input onClick={pay} type="button" value="pay" />
  return (
    <tr id={`order-${id}`}>
      <td>{id}</td>
      <td>{total} EUR</td>
      <td>{status === 'paid' ? 'paid' : button}</td>
    </tr>
  )
})

const main = document.querySelector('main')
if (main !== null) createRoot(main).render(<App />)

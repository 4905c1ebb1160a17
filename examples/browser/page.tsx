// The page: informers follow two views of the server. They change in one step, so the table has what the head counts.
import { createInformer, groupInformers } from 'listwatch'
import { httpCollections } from 'listwatch/http'
import { useObject, useObjects, useStatus } from 'listwatch/react'
import { memo, type ReactElement, useState } from 'react'
import { createRoot } from 'react-dom/client'
import type { Revenue, Row } from './shop.js'

const shop = httpCollections({ url: new URL('/shop', window.location.href) })
const revenue = createInformer({ source: shop.collection<Revenue>('revenue') })
const rows = createInformer({
  source: shop.collection<Row>('rows'),
  indexes: (ix) => ({ newest: ix.compound((row) => [row.tenant, row.placedAt]) }),
})
for (const informer of [revenue, rows]) informer.on('error', (error) => console.warn(error.message))
groupInformers([revenue, rows]).start()

function App(): ReactElement {
  const [tenant, setTenant] = useState('acme')
  const { state } = useStatus(rows)
  const { open = 0, total = 0 } = useObject(revenue, tenant) ?? {}
  const newest = useObjects(rows.by.newest, [tenant], { reverse: true, limit: 20 })
  const options = ['acme', 'birch', 'cedar'].map((name) => <option key={name}>{name}</option>)
  return (
    <>
      <select onChange={(event) => setTenant(event.target.value)} value={tenant}>
        {options}
      </select>
      <h1>{`${tenant}: ${open} open orders, ${total} EUR (${state})`}</h1>
      <table>
        <tbody>
          {newest.map((row) => (
            <OrderRow key={row.id} row={row} />
          ))}
        </tbody>
      </table>
    </>
  )
}

// A row renders again if its own order or customer has changed: the others are the same objects.
const OrderRow = memo(({ row: { id, customer, total, status } }: { readonly row: Row }): ReactElement => {
  const pay = (): void => void fetch(`/pay/${id}`, { method: 'POST' })
  const button = <input onClick={pay} type="button" value="pay" />
  return (
    <tr id={`order-${id}`}>
      <td>{id}</td>
      <td>{customer}</td>
      <td>{total} EUR</td>
      <td>{status === 'paid' ? 'paid' : button}</td>
    </tr>
  )
})

const main = document.querySelector('main')
if (main !== null) createRoot(main).render(<App />)

// Two collections of one history: a transfer is never half visible. Without a server: node examples/collections.ts
// With Postgres the collections are tables: `postgresDatabase({ connect }).table({ table: 'accounts' })`.
import { createInformer, deriveMany, groupInformers } from 'listwatch'
import { memoryDatabase } from 'listwatch/memory'

interface Account {
  readonly balance: number
}

const bank = memoryDatabase({ name: 'bank' })
const checkingSource = bank.collection<Account>('checking', [['ada', { balance: 100 }]])
const savingsSource = bank.collection<Account>('savings', [['ada', { balance: 0 }]])
const checking = createInformer({ source: checkingSource })
const savings = createInformer({ source: savingsSource })
const totals = deriveMany({
  reads: [checking, savings],
  each: () => [['ada', { total: (checking.get('ada')?.balance ?? 0) + (savings.get('ada')?.balance ?? 0) }]],
})

await using all = groupInformers([checking, savings, totals])
await all.start().synced()

const seen = new Set<number | undefined>()
const look = (): void => void seen.add(totals.get('ada')?.total)
const looking = [checking, savings].map((each) => each.subscribe({ add: look, update: look }))

let mark = ''
for (let balance = 90; balance >= 0; balance -= 10)
  mark = bank.commit((tx) => {
    tx.put(checkingSource, 'ada', { balance })
    tx.put(savingsSource, 'ada', { balance: 100 - balance })
  })
await Promise.all(looking.map((each) => each.waitFor(mark)))
console.log('savings', savings.get('ada')?.balance, 'totals that were seen', [...seen].join(' '))

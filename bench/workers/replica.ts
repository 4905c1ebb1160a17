// A replica that notes when it first runs each key: node replica.ts <its options as JSON>
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'
import { type LeasesOfProcess, openLeases } from '../../test/replicas/leases.ts'

/**
 * `state` and `times` are answered. Times are microseconds of the clock that all processes of the machine share.
 * `change` forgets all runs and changes all objects, so that each key runs again in its owner.
 */
export type Request = 'change' | 'forget' | 'state' | 'times'

export interface State {
  /** The part of the keys that it owns. */
  readonly share: number
  /** The number of keys that were run since they were forgotten, and of those that wait or run. */
  readonly run: number
  readonly waiting: number
}

const { keys, ...options } = JSON.parse(process.argv[2] ?? '') as LeasesOfProcess & { readonly keys: number }
const firstRuns = new Map<string, number>()
const source = memorySource<number>({ entries: Array.from({ length: keys }, (_, at) => [`order-${at}`, at] as const) })
const orders = createInformer({ source })
orders.on('error', (error) => console.error(error.message))
const controller = orders.reconcile(
  async (key) => {
    if (!firstRuns.has(key)) firstRuns.set(key, Number(process.hrtime.bigint() / 1_000n))
  },
  { leases: await openLeases(options), concurrency: 16 },
)
process.on('message', (request: Request) => {
  if (request === 'forget' || request === 'change') firstRuns.clear()
  if (request === 'change')
    source.transaction((tx) => {
      for (const [key, object] of orders.entries()) tx.put(key, object + 1)
    })
  if (request === 'state') {
    const { replica, backlog } = controller
    process.send?.({ share: replica?.share ?? 0, run: firstRuns.size, waiting: backlog.keys } satisfies State)
  }
  if (request === 'times') process.send?.([...firstRuns.values()])
})
process.once('SIGTERM', () => {
  void orders.stop({ drainMs: 5_000 }).finally(() => process.exit(0))
})
process.once('disconnect', () => process.exit(1))
await orders.start().synced()

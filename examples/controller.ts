// A controller: for each site that should be there it keeps a worker running, whatever happens in between.
//   node examples/controller.ts      (copied out of node_modules, where Node runs no TypeScript)
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'

interface Site {
  readonly host: string
  readonly workers: number
}

// Where the wishes come from. Any source does: a table, a key range, one of your own.
const source = memorySource<Site>({ entries: [['shop', { host: 'shop.example', workers: 2 }]] })
const sites = createInformer({ source })

// What is there.
const running = new Map<string, number>()

async function scale(key: string, workers: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (workers > 8) throw new Error(`there is no room for ${workers} workers`)
  if (workers === 0) running.delete(key)
  else running.set(key, workers)
  console.log(`${key}: ${workers} workers`)
}

// Run for each key that changed, with the state of now; again, later and later, when it fails.
const controller = sites.reconcile(
  async (key, { object, signal, requeueAfter }) => {
    await scale(key, object?.workers ?? 0, signal)
    if (object !== undefined) requeueAfter(60_000) // To mend what drifts by itself.
  },
  { concurrency: 4 },
)
sites.on('error', (error) => console.log(error.message))
await sites.start().synced()

const failed = new Promise((resolve) => sites.on('error', resolve))
source.put('blog', { host: 'blog.example', workers: 9 })
await failed
source.put('blog', { host: 'blog.example', workers: 1 })
await controller.waitFor(source.delete('shop'))
console.log('running', Object.fromEntries(running))
await sites.stop()

// A controller: it keeps one worker running for each desired site.
//   node examples/controller.ts      (copy it out of node_modules: Node runs no TypeScript there)
import { createInformer } from 'listwatch'
import { memorySource } from 'listwatch/memory'

interface Site {
  readonly host: string
  readonly workers: number
}

// The desired sites. Any source works: a table, a key range, one of your own.
const source = memorySource<Site>({ entries: [['shop', { host: 'shop.example', workers: 2 }]] })
const sites = createInformer({ source })

// The running workers.
const running = new Map<string, number>()

async function scale(key: string, workers: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (workers > 8) throw new Error(`there is no room for ${workers} workers`)
  if (workers === 0) running.delete(key)
  else running.set(key, workers)
  console.log(`${key}: ${workers} workers`)
}

// Called for each changed key with its current state. A failed run is retried with growing delays.
const controller = sites.reconcile(
  async (key, { object, signal, requeueAfter }) => {
    await scale(key, object?.workers ?? 0, signal)
    if (object !== undefined) requeueAfter(60_000) // Check again in a minute, in case the worker was changed from outside.
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

import { atMost, type Benchmark, contest } from './figures.ts'
import type { Shared } from './workers/share.ts'

const ROWS = 500_000
const WORKERS = 8
const CHANGES_PER_SECOND = 1_000
const SECONDS = 10

/** One shared mirror in worker threads, beside an informer of each thread, and beside one informer. */
export const share: Benchmark = {
  name: 'share',
  about: `${WORKERS} worker threads that follow ${ROWS} rows of 300 B, and ${CHANGES_PER_SECOND} changes a second`,
  async run() {
    const run = (contestant: string): Promise<Shared> =>
      contest('share', [contestant, ROWS, WORKERS, CHANGES_PER_SECOND, SECONDS].map(String), ['--expose-gc'])
    const one = await run('one')
    const shared = await run('share')
    const eight = await run('informers')
    const floor = await run('floor')
    const perWorker = (shared.rssMb - one.rssMb) / WORKERS
    return [
      atMost(1.5, {
        name: `memory of ${WORKERS} workers that share a mirror, beside one informer`,
        value: shared.rssMb / one.rssMb,
        unit: '×',
        peers: {
          'one MB': one.rssMb,
          'shared MB': shared.rssMb,
          'shared, per worker MB': Math.round(perWorker),
          'with a subscription each MB': shared.subscribedMb,
          [`${WORKERS} informers MB`]: eight.rssMb,
          [`${WORKERS} workers without an informer MB`]: floor.rssMb,
        },
      }),
      atMost(100, {
        name: 'a worker joins',
        value: shared.joinMs,
        unit: 'ms',
        peers: { 'all workers at once ms': shared.joinAllMs, 'list of its own ms': eight.joinMs },
      }),
      atMost(50, {
        name: 'from a commit to the handler of a worker, p99',
        value: shared.p99Ms,
        unit: 'ms',
        peers: {
          'p50 ms': shared.p50Ms,
          deliveries: shared.deliveries,
          'bare messages, p50 ms': floor.p50Ms,
          'bare messages, p99 ms': floor.p99Ms,
        },
      }),
      atMost(50, {
        name: `main thread, for ${CHANGES_PER_SECOND} changes a second to ${WORKERS} workers`,
        value: shared.mainPercent,
        unit: '% of a core',
        peers: { 'without followers %': one.mainPercent },
      }),
    ]
  },
}

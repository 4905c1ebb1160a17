import { createInformer } from 'listwatch'
import { atMost, type Benchmark, type Figure } from './figures.ts'
import { quantile, TimedUpdates } from './timed-updates.ts'

const SECONDS = 10
const PER_SECOND = 500
const WRITERS = 4

/** How long after its commit a change reaches a handler, and how long a bare NOTIFY takes in the same seconds. */
export const postgresLatency: Benchmark = {
  name: 'postgres-latency',
  about: `commit to handler at ${PER_SECOND} transactions a second, beside a bare NOTIFY with the same payload`,
  async run() {
    await using updates = await TimedUpdates.start()
    const late: number[] = []
    const rows = createInformer({ source: updates.source })
    rows.subscribe(updates.handler(late))
    await rows.start().synced()
    const notified: number[] = []
    const listener = await updates.connect()
    await listener.query('LISTEN bench')
    listener.on('notification', ({ payload }) => notified.push(performance.now() - Number(payload)))
    const transactions = await updates.write({
      seconds: SECONDS,
      perSecond: PER_SECOND,
      writers: WRITERS,
      committed: async (writer, sent) => {
        if (sent % 10 === 0) await writer.query('SELECT pg_notify($1, $2)', ['bench', String(performance.now())])
      },
    })
    await rows.fresh()
    await rows.stop()
    return [figure('p50', 0.5, 1, late, notified, transactions), figure('p99', 0.99, 8, late, notified, transactions)]
  },
}

function figure(
  name: string,
  part: number,
  limit: number,
  late: readonly number[],
  notified: readonly number[],
  transactions: number,
): Figure {
  const peers = {
    'bare NOTIFY ms': quantile(notified, part),
    transactions,
    'notified one by one': late.length,
  }
  return atMost(limit, { name: `postgres latency ${name}`, value: quantile(late, part), unit: 'ms', peers })
}

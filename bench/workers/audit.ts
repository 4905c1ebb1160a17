// The CPU time of a mirror with or without audits: node audit.ts with|without <objects> <period in ms>
import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer, type ListerWatcher } from 'listwatch'
import { keyOf, makeDataset, type Row } from '../dataset.ts'

const MEASURED_MS = 60_000
const BOOKMARK_MS = 1_000

const [contestant, objects, periodMs] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
const { rows } = makeDataset(objects)
const events = rows.map((line) => {
  const object = JSON.parse(line.toString('latin1')) as Row
  return { type: 'put', key: keyOf(object), object, version: object.resourceVersion } as const
})
const pages: string[] = []
for (let at = 0; at < objects; at += 1_000)
  pages.push(JSON.stringify(events.slice(at, at + 1_000).map(({ key, version }) => ({ key, version }))))
let audits = 0
const source: ListerWatcher<Row> = {
  name: 'bench',
  heartbeatMs: 600_000,
  hasReached: (at, mark) => Number(at) >= Number(mark),
  async *list({ pageSize }) {
    for (let at = 0; at < objects; at += pageSize) yield { events: events.slice(at, at + pageSize) }
    yield { events: [], version: '1' }
  },
  async *versions() {
    audits++
    for (const page of pages) yield { keys: JSON.parse(page) as { key: string; version: string }[] }
    yield { keys: [], version: '1' }
  },
  async *watch({ clock, signal }) {
    for (;;) {
      yield { events: [], version: '1' }
      await clock.sleep(BOOKMARK_MS, signal)
    }
  },
}
const pods = createInformer({ source, audit: contestant === 'with' ? { periodMs } : false })
await pods.start().synced()
globalThis.gc?.()
await sleep(1_000)
audits = 0
const before = process.cpuUsage()
await sleep(MEASURED_MS)
const { user, system } = process.cpuUsage(before)
const isProven = pods.status.proof?.by === 'audit'
if (isProven !== (contestant === 'with')) throw new Error(`the last proof is by ${pods.status.proof?.by}`)
await pods.stop()
console.log(JSON.stringify({ cpu: (user + system) / MEASURED_MS, audits: (audits * 60_000) / MEASURED_MS }))
process.exit()

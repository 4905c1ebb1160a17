// The CPU time of audits, and the time until they find a lost event: node audit.ts pages|etcd <objects> <period in ms>
// [endpoint]
import { setTimeout as sleep } from 'node:timers/promises'
import { createInformer, type ListerWatcher, type SourceError } from 'listwatch'
import { keyOf, makeDataset, type Row } from '../dataset.ts'

const WITHOUT_MS = 15_000
const WITH_MS = 45_000
const BOOKMARK_MS = 1_000

interface Subject {
  readonly source: ListerWatcher<unknown>
  /** Writes an object, whose event the watch loses. */
  lose(): Promise<void>
}

const [kind, objects, periodMs, endpoint] = [
  process.argv[2],
  Number(process.argv[3]),
  Number(process.argv[4]),
  process.argv[5],
]

/** A source whose pages of keys and versions are parsed from JSON, as an adapter parses the response of a server. */
function pagesOfJson(): Subject {
  const { rows } = makeDataset(objects)
  const events = rows.map((line) => {
    const object = JSON.parse(line.toString('latin1')) as Row
    return { type: 'put', key: keyOf(object), object, version: object.resourceVersion } as const
  })
  const pages: string[] = []
  for (let at = 0; at < objects; at += 1_000)
    pages.push(JSON.stringify(events.slice(at, at + 1_000).map(({ key, version }) => ({ key, version }))))
  let version = 1
  const source: ListerWatcher<Row> = {
    name: 'bench',
    heartbeatMs: 600_000,
    hasReached: (at, mark) => Number(at) >= Number(mark),
    async *list({ pageSize }) {
      for (let at = 0; at < objects; at += pageSize) yield { events: events.slice(at, at + pageSize) }
      yield { events: [], version: String(version) }
    },
    async *versions() {
      for (const page of pages) yield { keys: JSON.parse(page) as { key: string; version: string }[] }
      yield { keys: [], version: String(version) }
    },
    async *watch({ clock, signal }) {
      for (;;) {
        yield { events: [], version: String(version) }
        await clock.sleep(BOOKMARK_MS, signal)
      }
    },
  }
  const lose = async (): Promise<void> => {
    version++
    const [first, ...others] = JSON.parse(pages[0] ?? '[]') as { key: string; version: string }[]
    pages[0] = JSON.stringify([{ ...first, version: `${first?.version}0` }, ...others])
  }
  return { source, lose }
}

/** A prefix of a real etcd, which the benchmark has filled. Its audits read keys without values. */
async function prefixOfEtcd(): Promise<Subject> {
  const [{ etcdSource }, { Etcd3 }] = await Promise.all([import('listwatch/etcd'), import('etcd3')])
  const source = etcdSource<string>({ endpoints: endpoint ?? '', prefix: '/bench/', codec: 'string' })
  let isLosing = false
  const watch: ListerWatcher<string>['watch'] = async function* (context) {
    for await (const batch of source.watch(context)) yield isLosing ? { ...batch, events: [] } : batch
  }
  const lose = async (): Promise<void> => {
    isLosing = true
    const client = new Etcd3({ hosts: endpoint ?? '' })
    await client.put('/bench/00000000').value('lost')
    client.close()
  }
  const { name, heartbeatMs } = source
  return {
    source: {
      name,
      heartbeatMs,
      list: (context) => source.list(context),
      versions: (context) => source.versions(context),
      head: (context) => source.head(context),
      hasReached: (at, mark) => source.hasReached(at, mark),
      watch,
    },
    lose,
  }
}

/** Milliseconds of CPU in `ms`, while the informer only follows its source. */
async function cpuOf(ms: number): Promise<number> {
  globalThis.gc?.()
  await sleep(1_000)
  const before = process.cpuUsage()
  await sleep(ms)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const { source, lose } = kind === 'etcd' ? await prefixOfEtcd() : pagesOfJson()
const without = createInformer({ source, audit: false })
await without.start().synced()
if (without.size !== objects) throw new Error(`there are ${without.size} objects instead of ${objects}`)
const idleMs = await cpuOf(WITHOUT_MS)
await without.stop()

let audits = 0
const { versions } = source
const counted: ListerWatcher<unknown> = {
  ...source,
  versions(context) {
    audits++
    return versions?.call(source, context) ?? (async function* () {})()
  },
}
const audited = createInformer({ source: counted, audit: { periodMs } })
await audited.start().synced()
const first = audits
const cpuMs = (await cpuOf(WITH_MS)) - (idleMs * WITH_MS) / WITHOUT_MS
const { by } = audited.status.proof ?? {}
if (by !== 'audit') throw new Error(`the last proof is by ${by}`)
const measured = audits - first
const alarm = new Promise<SourceError>((resolve) => audited.on('error', resolve))
await lose()
const lostAt = performance.now()
const { code, message } = await alarm
const alarmMs = performance.now() - lostAt
if (code !== 'PROTOCOL' || audited.status.proof?.foundDrift !== 1) throw new Error(`not an alarm: ${message}`)
await audited.stop()
console.log(JSON.stringify({ share: cpuMs / WITH_MS, auditMs: cpuMs / measured, everyMs: WITH_MS / measured, alarmMs }))
process.exit()

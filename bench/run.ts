// npm run bench [-- name …] [--json] [--report]
import { writeFileSync } from 'node:fs'
import { audit } from './audit.ts'
import { controllers } from './controllers.ts'
import { etcd } from './etcd.ts'
import type { Benchmark, Figure } from './figures.ts'
import { followers } from './followers.ts'
import { indexLookup } from './index-lookup.ts'
import { indexes } from './indexes.ts'
import { kubernetes } from './kubernetes.ts'
import { kubernetesMemory } from './kubernetes-memory.ts'
import { postgresLatency } from './postgres-latency.ts'
import { postgresList } from './postgres-list.ts'
import { postgresWriters } from './postgres-writers.ts'
import { redis } from './redis.ts'
import { relay } from './relay.ts'
import { type Measured, report } from './report.ts'
import { share } from './share.ts'
import { sqlite } from './sqlite.ts'
import { stalls } from './stalls.ts'
import { store } from './store.ts'
import { sustained } from './sustained.ts'
import { telemetry } from './telemetry.ts'
import { views } from './views.ts'
import { warmStart } from './warm-start.ts'

const benchmarks: readonly Benchmark[] = [
  store,
  stalls,
  telemetry,
  audit,
  controllers,
  followers,
  indexLookup,
  indexes,
  postgresList,
  postgresLatency,
  postgresWriters,
  etcd,
  redis,
  sqlite,
  kubernetes,
  share,
  kubernetesMemory,
  warmStart,
  relay,
  views,
  sustained,
]

const args = process.argv.slice(2)
const asJson = args.includes('--json')
const isReported = args.includes('--report')
const wanted = args.filter((arg) => arg !== '--json' && arg !== '--report')
const unknown = wanted.find((name) => !benchmarks.some((benchmark) => benchmark.name === name))
if (unknown !== undefined) {
  console.error(`bench: there is no "${unknown}"; there are ${benchmarks.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const measured: Measured[] = []
for (const { name, about, run } of benchmarks) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  if (!asJson) console.log(`\n${name}: ${about}`)
  const figures = await run()
  measured.push({ name, about, figures })
  if (!asJson) for (const figure of figures) console.log(line(figure))
}
if (asJson) console.log(JSON.stringify({ figures: measured.flatMap(({ figures }) => figures) }))
if (isReported) {
  const { page, chart } = report(measured)
  writeFileSync(new URL('../docs/explain/performance.md', import.meta.url), page)
  writeFileSync(new URL('../docs/images/performance.svg', import.meta.url), chart)
}

function line({ name, value, unit, goal, holds, peers }: Figure): string {
  const beside = Object.entries(peers).map(([peer, figure]) => `${peer} ${figure}`)
  return `  ${holds ? 'ok  ' : 'miss'} ${name}: ${Math.round(value * 100) / 100} ${unit} (goal ${goal}; ${beside.join(', ')})`
}

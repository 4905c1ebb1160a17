// npm run bench [-- name …] [--json]
import { etcd } from './etcd.ts'
import type { Benchmark, Figure } from './figures.ts'
import { indexLookup } from './index-lookup.ts'
import { indexes } from './indexes.ts'
import { kubernetes } from './kubernetes.ts'
import { postgresLatency } from './postgres-latency.ts'
import { postgresList } from './postgres-list.ts'
import { postgresWriters } from './postgres-writers.ts'
import { redis } from './redis.ts'
import { stalls } from './stalls.ts'
import { store } from './store.ts'

const benchmarks: readonly Benchmark[] = [
  store,
  stalls,
  indexLookup,
  indexes,
  postgresList,
  postgresLatency,
  postgresWriters,
  etcd,
  redis,
  kubernetes,
]

const args = process.argv.slice(2)
const asJson = args.includes('--json')
const wanted = args.filter((arg) => arg !== '--json')
const unknown = wanted.find((name) => !benchmarks.some((benchmark) => benchmark.name === name))
if (unknown !== undefined) {
  console.error(`bench: there is no "${unknown}"; there are ${benchmarks.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}

const figures: Figure[] = []
for (const { name, about, run } of benchmarks) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  if (!asJson) console.log(`\n${name}: ${about}`)
  for (const figure of await run()) {
    figures.push(figure)
    if (!asJson) console.log(line(figure))
  }
}
if (asJson) console.log(JSON.stringify({ figures }))

function line({ name, value, unit, goal, holds, peers }: Figure): string {
  const beside = Object.entries(peers).map(([peer, figure]) => `${peer} ${figure}`)
  return `  ${holds ? 'ok  ' : 'miss'} ${name}: ${Math.round(value * 100) / 100} ${unit} (goal ${goal}; ${beside.join(', ')})`
}

// Informers that are created, started, synced, written to and stopped: node many.ts <informers>
import { createInformer, groupInformers } from 'listwatch'
import { memorySource } from 'listwatch/memory'

const count = Number(process.argv[2])
const sources = Array.from({ length: count }, (_, n) => memorySource({ entries: [[`a${n}`, { n }]] }))
const ended = new AbortController()
const began = performance.now()
const informers = sources.map((source) => createInformer({ source }))
let updates = 0
for (const informer of informers) informer.subscribe({ update: () => void updates++ })
const group = groupInformers(informers).start({ signal: ended.signal })
await group.synced()
for (const [n, source] of sources.entries()) source.put(`a${n}`, { n: -1 })
await Promise.all(informers.map((informer) => informer.fresh()))
await group.stop({ drainMs: 60_000 })
if (updates !== count) throw new Error(`${updates} of ${count} handlers were called`)
console.log(JSON.stringify({ us: (1_000 * (performance.now() - began)) / count }))

// Informers that are created, started, synced and stopped: node many.ts <informers>
import { createInformer, groupInformers } from 'listwatch'
import { memorySource } from 'listwatch/memory'

const count = Number(process.argv[2])
const sources = Array.from({ length: count }, (_, n) => memorySource({ entries: [[`a${n}`, { n }]] }))
const ended = new AbortController()
const began = performance.now()
const informers = sources.map((source) => createInformer({ source }))
const group = groupInformers(informers).start({ signal: ended.signal })
await group.synced()
ended.abort()
await group.stop()
console.log(JSON.stringify({ us: (1_000 * (performance.now() - began)) / count }))

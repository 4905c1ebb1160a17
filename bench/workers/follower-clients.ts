// Followers of a served mirror: node follower-clients.ts join|read|stop <url> <count>. Ends when its input ends.
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const [mode = '', address = '', number = ''] = process.argv.slice(2)
const count = Number(number)
const { hostname, port, host } = new URL(address)
const { version } = (await (await fetch(`${address}/version`)).json()) as { version: string }

const latencies: number[] = []
let connected = 0
const ready = Promise.withResolvers<void>()

/** A follower at the lowest price: a socket that looks for the time of the commit in each frame. */
function follower(reads: boolean): Socket {
  const socket = connect(Number(port), hostname)
  let isConnected = false
  socket.setEncoding('latin1')
  socket.on('error', (error) => ready.reject(error))
  socket.on('data', (text: string) => {
    const now = Date.now()
    if (!isConnected) {
      isConnected = true
      if (!text.startsWith('HTTP/1.1 200')) ready.reject(new Error(text.slice(0, 200)))
      if (++connected === count) ready.resolve()
      if (!reads) socket.pause()
    }
    for (const [, at] of text.matchAll(/"at":(\d+)/g)) latencies.push(now - Number(at))
  })
  socket.write(`GET /watch?after=${encodeURIComponent(version)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return socket
}

/** Receives a whole list. The bytes are not parsed: all these followers share one core. */
async function join(): Promise<void> {
  const { chunks } = (await (await fetch(`${address}/list`)).json()) as { chunks: readonly string[] }
  for (const chunk of chunks) await (await fetch(`${address}/list/${chunk}`)).arrayBuffer()
}

if (mode === 'join') {
  const began = performance.now()
  await Promise.all(Array.from({ length: count }, join))
  console.log(JSON.stringify({ joinMs: performance.now() - began }))
  process.exit(0)
}

/** The most connections that wait for a response. */
const CONNECTING = 100
for (let i = 0; i < count; i++) {
  while (i - connected >= CONNECTING) await Promise.race([ready.promise, sleep(1)])
  follower(mode === 'read')
}
await ready.promise
latencies.length = 0
console.log('{}')
process.stdin.resume().on('end', () => {
  latencies.sort((a, b) => a - b)
  const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN
  console.log(JSON.stringify({ p50Ms: at(0.5), p99Ms: at(0.99), deliveries: latencies.length }))
  process.exit(0)
})

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

/** All sockets read into this buffer, one after the other. */
const buffer = Buffer.alloc(64 * 1024)
const AT = Buffer.from('"at":')
/** The digits of a time in milliseconds. */
const DIGITS = 13

/** A follower at the lowest price: a socket that looks for the time of the commit in each frame. */
function follower(reads: boolean): Socket {
  let isConnected = false
  const callback = (length: number): boolean => {
    const now = Date.now()
    const text = buffer.subarray(0, length)
    if (!isConnected) {
      isConnected = true
      if (!text.toString('latin1').startsWith('HTTP/1.1 200')) ready.reject(new Error(text.toString('latin1', 0, 200)))
      if (++connected === count) ready.resolve()
      if (!reads) return false
    }
    for (let at = text.indexOf(AT); at >= 0; at = text.indexOf(AT, at + DIGITS)) {
      const digits = text.toString('latin1', at + AT.length, at + AT.length + DIGITS)
      if (digits.length === DIGITS) latencies.push(now - Number(digits))
    }
    return true
  }
  const socket = connect({ port: Number(port), host: hostname, onread: { buffer, callback } })
  socket.on('error', (error) => ready.reject(error))
  socket.write(`GET /watch?after=${encodeURIComponent(version)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  return socket
}

/** Receives a whole list. The bytes are not parsed: all these followers share one core. */
async function join(): Promise<void> {
  await (await fetch(`${address}/list`)).arrayBuffer()
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

import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'
import { systemRandom } from '../../src/contract/random.js'

/**
 * The range is below the ports that Linux and macOS use for outgoing connections. So a restarted server finds its port free, and a
 * client that connects meanwhile cannot receive that port and connect to itself.
 */
const FIRST_PORT = 15_000
const LAST_PORT = 32_000

/** Returns a TCP port on 127.0.0.1 on which no process listens. No other call returns it until this process ends. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = FIRST_PORT + Math.floor(systemRandom.next() * (LAST_PORT - FIRST_PORT))
    if ((await isFree(port)) && (await reserve(port))) return port
  }
  throw new Error(`no free TCP port found between ${FIRST_PORT} and ${LAST_PORT}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

/**
 * Binds the UDP port of the same number until this process ends. Otherwise another process would receive the port of a server
 * that is not started yet, or is down for a moment.
 */
function reserve(port: number): Promise<boolean> {
  const socket = createSocket('udp4').unref()
  return new Promise((resolve) => {
    socket.once('error', () => socket.close(() => resolve(false)))
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => resolve(true))
  })
}

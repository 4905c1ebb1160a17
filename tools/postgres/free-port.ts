import { createServer } from 'node:net'
import { systemRandom } from '../../src/contract/random.js'

/**
 * The range is below the ports that Linux and macOS use for outgoing connections. So a restarted server finds its port free, and a
 * client that connects meanwhile cannot receive that port and connect to itself.
 */
const FIRST_PORT = 15_000
const LAST_PORT = 32_000

/** Returns a TCP port on 127.0.0.1 on which no process listens now. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = FIRST_PORT + Math.floor(systemRandom.next() * (LAST_PORT - FIRST_PORT))
    if (await isFree(port)) return port
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

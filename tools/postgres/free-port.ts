import { createServer } from 'node:net'
import { systemRandom } from '../../src/contract/random.js'

/**
 * The range lies below the one from which Linux and macOS take the ports of outgoing connections: a server that is
 * down for a moment finds its port free again, and a client that knocks meanwhile cannot be given that very port and so meet itself.
 */
const FIRST_PORT = 15_000
const LAST_PORT = 32_000

/** A TCP port on 127.0.0.1 that nobody listens on now. */
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

import { createServer } from 'node:net'
import { systemRandom } from '../../src/contract/random.js'

/**
 * The range lies below the one from which Linux and macOS take the ports of outgoing connections: a server that is
 * down for a moment finds its port free again, and a client that knocks meanwhile cannot be given that very port and so meet itself.
 */
const FIRST = 15_000
const LAST = 32_000

/** A TCP port on 127.0.0.1 that nobody listens on now. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 50; tries++) {
    const port = FIRST + Math.floor(systemRandom.next() * (LAST - FIRST))
    if (await isFree(port)) return port
  }
  throw new Error(`no free TCP port found between ${FIRST} and ${LAST}`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)))
  })
}

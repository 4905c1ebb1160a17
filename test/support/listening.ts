import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Server as NetServer, Socket } from 'node:net'
import { onTestFinished as onFinished } from 'vitest'

/** Listens on a free port of this machine. Returns the address. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen')
  return `http://127.0.0.1:${address.port}`
}

/** Listens on a free port of this machine until the test is over, and then ends all connections. Returns the port. */
export async function portOf(server: NetServer, onTestFinished: typeof onFinished = onFinished): Promise<number> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket)))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return Object(server.address()).port
}

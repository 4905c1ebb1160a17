import { once } from 'node:events'
import type { Server as NetServer, Socket } from 'node:net'
import { onTestFinished as onFinished } from 'vitest'

/** Listens on a free port of this machine. Returns the address. */
export async function listening(server: NetServer): Promise<string> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${Object(server.address()).port}`
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

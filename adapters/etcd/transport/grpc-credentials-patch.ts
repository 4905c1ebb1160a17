import type { Socket } from 'node:net'

/** What makes a connection of a socket, as grpc-js 1.13 and later has it inside. */
interface Connector {
  connect(socket: Socket): Promise<unknown>
  destroy(): void
}

interface WithConnector {
  _createSecureConnector?(...args: readonly unknown[]): Connector
}

/**
 * A channel that is closed while it waits between two attempts to connect makes one attempt more, and grpc-js keeps that
 * connection open for good. With these credentials it is closed at once. `onSocket` gets each connection that is used.
 */
export function patchCredentials<C extends object>(credentials: C, onSocket: (socket: Socket) => void): C {
  const inner: WithConnector = credentials
  const create = inner._createSecureConnector?.bind(credentials)
  if (create === undefined) return credentials
  inner._createSecureConnector = (...args) => {
    const connector = create(...args)
    const [connect, destroy] = [connector.connect.bind(connector), connector.destroy.bind(connector)]
    let isOver = false
    connector.connect = async (socket) => {
      if (!isOver) {
        onSocket(socket)
        return await connect(socket)
      }
      socket.destroy()
      throw new Error('the channel was closed')
    }
    connector.destroy = () => {
      isOver = true
      destroy()
    }
    return connector
  }
  return credentials
}

import type { Socket } from 'node:net'

/** grpc-js 1.13 and later uses this internal object to make a connection of a socket. */
interface Connector {
  connect(socket: Socket): Promise<unknown>
  destroy(): void
}

interface WithConnector {
  _createSecureConnector?(...args: readonly unknown[]): Connector
}

/**
 * Patches `_createSecureConnector` of the credentials. A channel that is closed between two attempts to connect makes
 * one more attempt, and grpc-js never closes that connection. The patch closes it. `onSocket` is called with each
 * connection that is used.
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

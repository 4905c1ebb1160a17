import { startFaultProxy } from '../servers/fault-proxy.js'

/** What a proxy before a server is for a subject of the kit: it can end and count the connections of the source. */
export interface Proxied {
  disconnect(): void
  connections(): number
  dispose(): Promise<void>
}

/** A proxy before a server on this port, and its own port. */
export async function behindProxy(targetPort: number): Promise<readonly [port: number, proxied: Proxied]> {
  const proxy = await startFaultProxy({ targetPort })
  const proxied: Proxied = {
    disconnect: () => proxy.reset(),
    connections: () => proxy.counts.open,
    dispose: async () => await proxy[Symbol.asyncDispose](),
  }
  return [proxy.port, proxied]
}

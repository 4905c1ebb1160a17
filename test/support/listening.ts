import type { Server } from 'node:http'

/** Listens on a free port of this machine. Returns the address. */
export async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server does not listen')
  return `http://127.0.0.1:${address.port}`
}

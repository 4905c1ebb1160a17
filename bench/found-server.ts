import type { FoundServer, locateServer } from '../test/servers/locate.ts'

/** Returns a server program of the tests. Modules of the tests can be imported afterwards. Throws if it is missing. */
export async function foundServer(name: Parameters<typeof locateServer>[0]): Promise<FoundServer> {
  await import(String(new URL('../scripts/typescript.mjs', import.meta.url)))
  const servers = await import('../test/servers/locate.ts')
  const found = await servers.locateServer(name)
  if (found.type === 'missing') throw new Error(`${found.name} is missing: ${found.why}`)
  return found
}

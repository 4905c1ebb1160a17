import { announceFetch, endFetch, serverCache, sweepCache } from './cache.js'
import { fetchServer, type LocatedServer, locateServer } from './locate.js'
import { recipeOf, type ServerName, serverNames } from './recipes.js'
import { areServersRequired, isRequired } from './required.js'
import { table } from './table.js'

/**
 * Finds servers, fetches the missing ones into the cache, and prints a table of them. Programs are built while others are
 * downloaded. Tests that need a server wait from `begun` on until it was fetched. Resolves with whether none is missing, or
 * none is required.
 */
export async function provision(
  print: (text: string) => void,
  wanted: readonly ServerName[] = serverNames,
  begun = (): void => {},
): Promise<boolean> {
  // A wrong value is an error before the work, too.
  areServersRequired()
  const cache = await serverCache()
  await sweepCache()
  const servers = new Map<ServerName, LocatedServer>()
  for (const server of await Promise.all(wanted.map(locateServer))) servers.set(server.name, server)
  const fetched = wanted.filter((name) => recipeOf(name).fetch !== undefined && servers.get(name)?.type === 'missing')
  await Promise.all(fetched.map(announceFetch))
  begun()
  const fetchAll = async (lane: readonly ServerName[]): Promise<void> => {
    for (const name of lane) {
      print(`fetching ${name} …\n`)
      const server = await fetchServer(name)
      servers.set(name, server)
      await endFetch(name, server.type === 'missing' ? server.why : undefined)
    }
  }
  await Promise.all(
    [true, false].map((built) => fetchAll(fetched.filter((name) => (recipeOf(name).isBuilt ?? false) === built))),
  )
  const located = [...servers.values()]
  print(table(['server', 'version', 'path, or the reason why it is missing'], located.map(row)))
  print(`cache: ${cache}\n`)
  return located.every(({ type, name }) => type === 'found' || !isRequired(name))
}

function row(server: LocatedServer): string[] {
  return server.type === 'found' ? [server.name, server.version, server.binDir] : [server.name, '–', server.why]
}

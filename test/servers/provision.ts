import { serverCache, sweepCache, writeLacking } from './cache.js'
import { fetchServer, type LocatedServer, locateServer } from './locate.js'
import { recipes } from './recipes.js'
import { areServersRequired } from './required.js'
import { table } from './table.js'

/** Finds every server, fetches into the cache what can be fetched, and says what there is and what not. */
export async function provision(print: (text: string) => void): Promise<boolean> {
  const isRequired = areServersRequired()
  const cache = await serverCache()
  await sweepCache()
  const found = await Promise.all(recipes.map((recipe) => locateServer(recipe.name)))
  const servers: LocatedServer[] = []
  for (const server of found) {
    const isFetchable = recipes.find((recipe) => recipe.name === server.name)?.fetch !== undefined
    if (server.type === 'missing' && isFetchable) {
      print(`fetching ${server.name} …\n`)
      servers.push(await fetchServer(server.name))
    } else servers.push(server)
  }
  const lacking = servers.filter((server) => server.type === 'missing')
  await writeLacking(new Map(lacking.map((server) => [server.name, server.why])))
  print(table(['server', 'version', 'path, or the reason why it is missing'], servers.map(row)))
  print(`cache: ${cache}\n`)
  return lacking.length === 0 || !isRequired
}

function row(server: LocatedServer): string[] {
  return server.type === 'found' ? [server.name, server.version, server.binDir] : [server.name, '–', server.why]
}

import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../src/contract/errors.js'
import type { Installation } from '../../tools/postgres/readable-install.js'
import { cachedFolder, fillCache, isBeingFetched, whyLacking } from './cache.js'
import { recipeOf, type ServerName, usualPlaces } from './recipes.js'
import { succeeds } from './wait-until.js'

export interface FoundServer extends Installation {
  readonly type: 'found'
  readonly name: ServerName
  readonly version: string
}

export type MissingServer = { readonly type: 'missing'; readonly name: ServerName; readonly why: string }
export type LocatedServer = FoundServer | MissingServer

const FETCH_POLL_MS = 500
const located = new Map<ServerName, Promise<LocatedServer>>()

/** A server as this machine or the cache has it. Waits while another process fetches it. Looked for once. */
export function locateServer(name: ServerName): Promise<LocatedServer> {
  const known = located.get(name)
  if (known !== undefined) return known
  const looked = locateFetched(name)
  located.set(name, looked)
  return looked
}

async function locateFetched(name: ServerName): Promise<LocatedServer> {
  for (;;) {
    const isComing = await isBeingFetched(name)
    const server = await locate(name)
    if (server.type === 'found' || !isComing) return server
    await sleep(FETCH_POLL_MS)
  }
}

/** Fetches a server into the cache. */
export async function fetchServer(name: ServerName): Promise<LocatedServer> {
  const recipe = recipeOf(name)
  const { fetch, fetched } = recipe
  if (fetch === undefined || fetched === undefined) return await locateServer(name)
  try {
    const folder = await fillCache(name, async (empty) => {
      await fetch(empty)
      // Before it is kept: what does not run here is no better than nothing.
      await recipe.version(await fetched(empty)).catch((error: unknown) => {
        throw new Error(`was fetched, but ${messageOf(error).replaceAll(`${empty}/`, '')}`, { cause: error })
      })
    })
    const at = await fetched(folder)
    return { type: 'found', name, version: await recipe.version(at), ...at }
  } catch (error) {
    return { type: 'missing', name, why: messageOf(error) }
  }
}

async function locate(name: ServerName): Promise<LocatedServer> {
  const recipe = recipeOf(name)
  let why: string | undefined
  try {
    for (const at of await places(name)) {
      if (!(await isThere(join(at.binDir, recipe.program)))) continue
      const version = await recipe.version(at).catch((error: unknown) => {
        why = messageOf(error)
      })
      if (version !== undefined) return { type: 'found', name, version, ...at }
    }
  } catch (error) {
    why = messageOf(error)
  }
  return { type: 'missing', name, why: (await whyLacking(name)) ?? why ?? 'not fetched yet: npm run servers' }
}

async function places(name: ServerName): Promise<Installation[]> {
  const recipe = recipeOf(name)
  const cached = await cachedFolder(name)
  const fetched = (await isThere(cached)) ? await recipe.fetched?.(cached) : undefined
  const installed = recipe.installed?.() ?? usualPlaces()
  return fetched === undefined ? [...installed] : [...installed, fetched]
}

async function isThere(path: string): Promise<boolean> {
  return await succeeds(access(path))
}

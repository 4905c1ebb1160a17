import {
  access,
  constants,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../tools/cache-folder.js'
import { isRunning } from '../../tools/postgres/platform.js'

/** What is being put together; older ones were left by a run that was killed. */
const PARTIAL = '.partial-'
const PARTIAL_LIFE_MS = 3_600_000

let found: Promise<string> | undefined

/** The folder in which servers are kept between runs: outside the work tree, in the user's cache, else in the temporary folder. */
export function serverCache(): Promise<string> {
  found ??= findCache()
  return found
}

/** Folder of one server; it exists only when it is whole. */
export async function cachedFolder(name: string): Promise<string> {
  return join(await serverCache(), `${name.replaceAll(' ', '-')}-${await systemName()}`)
}

/** Fills the folder of a server, replacing what was there. A process that is killed halfway, or comes second, leaves no partial folder. */
export function fillCache(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  return filled(name, true, fill)
}

/** The same for a folder that other processes may read: one that is there is kept. */
export async function keepInCache(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const target = await cachedFolder(name)
  return (await isThere(target)) ? target : await filled(name, false, fill)
}

async function filled(name: string, isReplacing: boolean, fill: (folder: string) => Promise<void>): Promise<string> {
  const target = await cachedFolder(name)
  const partial = await mkdtemp(join(await serverCache(), PARTIAL))
  try {
    await fill(partial)
    if (isReplacing) await rename(target, `${partial}-old`).catch(() => {})
    await rename(partial, target).catch(async (error: unknown) => {
      // Another run was quicker: its copy is as good.
      if (!(await isThere(target))) throw error
    })
  } finally {
    await rm(partial, { recursive: true, force: true })
    await rm(`${partial}-old`, { recursive: true, force: true })
  }
  return target
}

/** Removes what killed runs left behind. */
export async function sweepCache(): Promise<void> {
  const folder = await serverCache()
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    const age = Date.now() - ((await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now())
    if (name.startsWith(PARTIAL) && age > PARTIAL_LIFE_MS) await rm(path, { recursive: true, force: true })
  }
}

/** A file whose content is the id of the process that fetches a server, or the reason why it could not be fetched. */
async function noteOn(name: string, kind: 'fetching' | 'lacking'): Promise<string> {
  return join(await serverCache(), `.${kind}-${name.replaceAll(' ', '-')}`)
}

/** Lets `isBeingFetched` return true in all processes, until `endFetch` or the end of this process. */
export async function announceFetch(name: string): Promise<void> {
  await writeFile(await noteOn(name, 'fetching'), `${process.pid}`)
}

/** Keeps the reason if the server could not be fetched. */
export async function endFetch(name: string, why?: string): Promise<void> {
  const file = await noteOn(name, 'lacking')
  await (why === undefined ? rm(file, { force: true }) : writeFile(file, why))
  await rm(await noteOn(name, 'fetching'), { force: true })
}

/** Whether a living process fetches this server. */
export async function isBeingFetched(name: string): Promise<boolean> {
  const pid = await readFile(await noteOn(name, 'fetching'), 'utf8').catch(() => undefined)
  // Between its creation and its first write the file is empty.
  return pid === '' || (pid !== undefined && (await isRunning(Number(pid))))
}

/** Why the last attempt to fetch a server failed. */
export async function whyLacking(name: string): Promise<string | undefined> {
  return await readFile(await noteOn(name, 'lacking'), 'utf8').catch(() => undefined)
}

async function findCache(): Promise<string> {
  const user = cacheFolder('servers')
  try {
    await mkdir(user, { recursive: true })
    await access(user, constants.W_OK)
    return user
  } catch {
    return await temporaryCache()
  }
}

async function temporaryCache(): Promise<string> {
  const uid = process.getuid?.() ?? 0
  const folder = join(tmpdir(), `listwatch-servers-${uid}`)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  // Any user may create a folder of that name there, and programs in it are about to be run.
  const { uid: owner } = await lstat(folder)
  if (owner !== uid) throw new Error(`${folder} belongs to another user: remove it, or set XDG_CACHE_HOME`)
  return folder
}

/** Programs of one system do not run on another that shares the home directory. */
async function systemName(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const field = (name: string): string => new RegExp(`^${name}="?([^"\n]*)`, 'm').exec(text)?.[1] ?? ''
  return `${field('ID') || process.platform}${field('VERSION_ID')}-${process.arch}`
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

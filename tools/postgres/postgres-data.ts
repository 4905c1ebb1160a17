import { chown, mkdir, readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { messageOf } from '../../src/contract/errors.js'
import { serverUser, withUserName } from './platform.js'
import type { PostgresPrograms } from './postgres-binaries.js'
import type { ServerUser } from './run-program.js'
import { runProgram } from './run-program.js'

export interface DataOptions {
  readonly dataDir: string
  readonly programs: PostgresPrograms
  readonly user: ServerUser | undefined
  /** Whether the data outlives the server; only then is it worth waiting for the disk. */
  readonly isLasting: boolean
  readonly signal: AbortSignal | undefined
  /** Called with the id of a process that may have to be ended. */
  readonly started: (pid: number) => void
}

const INITDB_TIMEOUT_MS = 60_000

/** Returns the user for a server with this data: if this process is root, the folder's owner or `nobody`, else undefined. */
export async function ownerFor(dataDir: string | undefined): Promise<ServerUser | undefined> {
  const user = serverUser()
  if (user === undefined || dataDir === undefined || !(await isThere(dataDir))) return user
  const { uid, gid } = await stat(dataDir)
  if (uid !== 0) return { uid, gid }
  if ((await readdir(dataDir)).length > 0) {
    throw new Error(`Postgres cannot run as root, who owns ${dataDir}: run chown -R ${user.uid}:${user.gid} ${dataDir}`)
  }
  await chown(dataDir, user.uid, user.gid)
  return user
}

/** Creates the folder and the database if they do not exist. After a failure the folder is as before. */
export async function prepareData(options: DataOptions): Promise<void> {
  const { dataDir, user } = options
  const isMade = !(await isThere(dataDir))
  if (isMade) {
    await mkdir(dirname(dataDir), { recursive: true })
    await mkdir(dataDir, { mode: 0o700 })
    if (user !== undefined) await chown(dataDir, user.uid, user.gid)
  }
  if (await isThere(join(dataDir, 'PG_VERSION'))) return
  const wasEmpty = (await readdir(dataDir)).length === 0
  try {
    await initdb(options)
  } catch (error) {
    // Half a database would stand in the way of the next start.
    if (isMade) await rm(dataDir, { recursive: true, force: true })
    else if (wasEmpty) await empty(dataDir)
    throw error
  }
}

async function initdb({ dataDir, programs, user, isLasting, signal, started }: DataOptions): Promise<void> {
  const nameless = withUserName(user)
  const [file = '', ...args] = [
    ...nameless,
    join(programs.binDir, 'initdb'),
    ...['-D', dataDir, '-U', 'postgres', '-A', 'trust', '--encoding=UTF8', '--no-locale'],
    ...(isLasting ? [] : ['--no-sync']),
  ]
  try {
    await runProgram(file, args, { env: programs.env, user, signal, started, timeoutMs: INITDB_TIMEOUT_MS })
  } catch (error) {
    signal?.throwIfAborted()
    if (nameless.length === 0) throw error
    const uid = process.geteuid?.()
    throw new Error(`${messageOf(error)}; initdb wants a user with a name: add user id ${uid} to /etc/passwd`)
  }
}

async function isThere(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}

async function empty(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true })
}

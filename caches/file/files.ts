import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readdir, rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { messageOf, SourceError } from '../../src/contract/errors.js'

/** The operations on files that can fail in tests. */
export interface Files {
  open(path: string, flags: string | number, mode?: number): Promise<FileHandle>
  rename(from: string, to: string): Promise<void>
}

export const realFiles: Files = { open, rename }

/** A temporary file that was not written to for this time is of a process that crashed, in milliseconds. */
const ABANDONED_AFTER_MS = 600_000

/** Opens a file for reading, if it is a regular one. A link is refused, and a pipe does not block. */
export async function openForReading(path: string, files: Files): Promise<FileHandle> {
  const handle = await files.open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0))
  try {
    if ((await handle.stat()).isFile()) return handle
  } catch (error) {
    await handle.close()
    throw error
  }
  await handle.close()
  throw new Error('it is not a regular file')
}

/**
 * Replaces a file atomically: writes a temporary file beside it, and renames it. After a crash at any moment, the path
 * has the old content or the new one.
 *
 * @throws SourceError UNAVAILABLE if the file cannot be written. Then the old content is kept, as after an abort.
 */
export async function replaceFile(
  path: string,
  files: Files,
  signal: AbortSignal,
  write: (file: FileHandle) => Promise<void>,
): Promise<void> {
  try {
    await assertReplaceable(path)
    const temporary = temporaryPath(path)
    const file = await files.open(temporary, 'wx', 0o600)
    try {
      await removeAbandoned(path, (await file.stat()).mtimeMs)
      await write(file)
      await file.sync()
      await file.close()
      // The disk may have been slow, and another save may have been made meanwhile.
      signal.throwIfAborted()
      await files.rename(temporary, path)
    } catch (error) {
      await file.close().catch(() => {})
      await rm(temporary, { force: true }).catch(() => {})
      throw error
    }
    await syncFolder(dirname(path), files)
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw new SourceError(`file cache ${path} cannot be saved: ${reasonOf(error, path)}`, {
      code: 'UNAVAILABLE',
      cause: error,
    })
  }
}

/** @throws SourceError UNAVAILABLE if it cannot be removed. */
export async function removeFile(path: string): Promise<void> {
  try {
    await rm(path, { force: true })
  } catch (error) {
    const message = `file cache ${path} cannot be removed: ${reasonOf(error, path)}`
    throw new SourceError(message, { code: 'UNAVAILABLE', cause: error })
  }
}

/** Returns why an operation on a file failed, in words. */
export function reasonOf(error: unknown, path: string): string {
  if (!isSystemError(error)) return messageOf(error)
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: `the folder ${dirname(path)} does not exist`,
    ENOTDIR: `${dirname(path)} is not a folder`,
    EACCES: 'the process has no permission (EACCES)',
    EPERM: 'the process has no permission (EPERM)',
    ENOSPC: 'the disk is full (ENOSPC)',
    EDQUOT: 'the disk is full (EDQUOT)',
    EROFS: 'the file system is read-only',
    EFBIG: 'the file is larger than the process may write (EFBIG)',
    ELOOP: 'it is a symbolic link',
    EISDIR: 'it is a folder',
  }
  return reasons[error.code] ?? error.message
}

/** Whether an error is one of the operating system, whose `code` is such as `ENOSPC`. */
export function isSystemError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string'
}

/** A rename would replace a link, and not the file that it names. */
async function assertReplaceable(path: string): Promise<void> {
  const found = await lstat(path).catch((error: unknown) => {
    if (isSystemError(error) && error.code === 'ENOENT') return undefined
    throw error
  })
  if (found === undefined || found.isFile()) return
  const type = found.isSymbolicLink() ? 'a symbolic link' : found.isDirectory() ? 'a folder' : 'not a regular file'
  throw new SourceError(`file cache ${path} cannot be saved: it is ${type}`, { code: 'UNAVAILABLE' })
}

let temporaries = 0

/** Each save has a temporary file of its own, so that two saves of one path do not mix. */
function temporaryPath(path: string): string {
  return `${path}.${hostname()}.${process.pid}.${(temporaries++).toString(36)}${process.hrtime.bigint().toString(36)}.tmp`
}

/** Removes the temporary files of processes that crashed. `nowMs` is the time of the file system. */
async function removeAbandoned(path: string, nowMs: number): Promise<void> {
  const [folder, prefix] = [dirname(path), `${basename(path)}.`]
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || !name.endsWith('.tmp')) continue
    const [, host, pid] = /^(.*)\.(\d+)\.\w+\.tmp$/.exec(name.slice(prefix.length)) ?? []
    if (host === undefined) continue
    // Another save may remove it first.
    const found = await lstat(join(folder, name)).catch(() => undefined)
    if (found === undefined) continue
    const isAbandoned =
      nowMs - found.mtimeMs > ABANDONED_AFTER_MS ||
      (host === hostname() && isOfEndedProcess(Number(pid), nowMs - found.mtimeMs))
    if (isAbandoned) await rm(join(folder, name), { force: true }).catch(() => {})
  }
}

/** Whether the process that wrote a file has ended. In a container, the next process often has the same id. */
function isOfEndedProcess(pid: number, ageMs: number): boolean {
  if (pid === process.pid) return ageMs > process.uptime() * 1_000
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return isSystemError(error) && error.code === 'ESRCH'
  }
}

/** Makes a rename durable. Windows cannot open folders. */
async function syncFolder(folder: string, files: Files): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await files.open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

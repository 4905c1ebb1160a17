import { constants } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { OrphanGuard } from './orphan-guard.js'
import { temporaryFolder } from './platform.js'

/** A folder with programs that work only inside of it, and their environment. */
export interface Installation {
  /** The folder with everything that the programs need. It may have to be copied. */
  readonly root: string
  /** The folder of the programs, within `root`. */
  readonly binDir: string
  readonly env: Readonly<Record<string, string>>
}

const copies = new Map<string, Promise<Installation>>()

/**
 * Copies programs to a temporary folder that every user can read, for a server that runs as another user. This process uses one
 * copy, which is removed when it ends. `amend` may complete the copy before its first use.
 */
export function readableCopy(from: Installation, amend?: (root: string) => Promise<void>): Promise<Installation> {
  const known = copies.get(from.binDir)
  if (known !== undefined) return known
  const copy = makeCopy(from, amend)
  copies.set(from.binDir, copy)
  copy.catch(() => copies.delete(from.binDir))
  return copy
}

async function makeCopy(from: Installation, amend?: (root: string) => Promise<void>): Promise<Installation> {
  const folder = await temporaryFolder('listwatch-programs-')
  const guard = new OrphanGuard(folder, 'KILL')
  const root = join(folder, 'root')
  try {
    await copyReadable(from.root, root)
    await amend?.(root)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    guard.release()
    throw error
  }
  const moved = (path: string): string =>
    path === from.root || path.startsWith(from.root + sep) ? root + path.slice(from.root.length) : path
  const env = Object.entries(from.env).map(([name, value]) => [name, value.split(':').map(moved).join(':')])
  return { root, binDir: moved(from.binDir), env: Object.fromEntries(env) }
}

/** Copies a folder so that every user may read the copy and run its programs. Symbolic links are copied as links. */
async function copyReadable(from: string, to: string): Promise<void> {
  await mkdir(to)
  await chmod(to, 0o755)
  const entries = await readdir(from, { withFileTypes: true })
  await Promise.all(
    entries.map(async (entry) => {
      const source = join(from, entry.name)
      const target = join(to, entry.name)
      if (entry.isDirectory()) await copyReadable(source, target)
      else if (entry.isSymbolicLink()) await symlink(await readlink(source), target)
      else if (entry.isFile()) {
        await copyFile(source, target, constants.COPYFILE_FICLONE)
        await chmod(target, 0o755)
      }
    }),
  )
}

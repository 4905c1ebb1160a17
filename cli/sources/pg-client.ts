import { createRequire } from 'node:module'
import type pg from 'pg'
import { fieldOf } from '../args/fields.js'
import { assertCompleteUrl, decodedPart, throwInvalidUrl, withPlainScheme } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { type CommandTarget, cliErrorOf } from '../output/error-hints.js'

const OLDEST_MINOR = 16
const INSTALL = `npm i pg@^8.${OLDEST_MINOR}`

/** Returns the user's driver. Throws a CliError if it is missing or too old. */
export async function loadPg(): Promise<typeof pg> {
  const { default: driver } = await loadPackage('pg', () => import('pg'), INSTALL)
  const version = String(fieldOf(createRequire(import.meta.url)('pg/package.json'), 'version'))
  const [major, minor] = version.split('.').map(Number)
  if (major !== 8 || (minor ?? 0) < OLDEST_MINOR) {
    throw new CliError(`pg ${version} is not supported; install a newer one with: ${INSTALL}`)
  }
  return driver
}

/** Checks a URL of Postgres, and returns it with a lower-case scheme. The driver then parses it to the same parts. */
export function checkPostgresUrl(given: string): string {
  const url = withPlainScheme(given)
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url))
    throwInvalidUrl('Postgres', 'postgres://user@host:5432/database')
  assertCompleteUrl(url)
  const { username, password } = new URL(url)
  decodedPart(username)
  decodedPart(password)
  return url
}

/** Runs `work` on a new connection of the driver. Converts its errors to a CliError. Default: the user's driver. */
export async function withPg<V>(
  target: CommandTarget,
  work: (client: pg.Client) => Promise<V>,
  loaded?: typeof pg,
): Promise<V> {
  const { url } = target
  const driver = loaded ?? (await loadPg())
  const client = new driver.Client({
    connectionString: checkPostgresUrl(url),
    connectionTimeoutMillis: 10_000,
    application_name: 'listwatch',
  })
  client.on('error', () => {}) // The pending query rejects with the same error.
  let isConnected = false
  try {
    await client.connect()
    isConnected = true
    return await work(client)
  } catch (error) {
    throw error instanceof CliError ? error : cliErrorOf(error, target)
  } finally {
    // A driver without a password leaves its connection open. Without a connection, end() may never resolve.
    const ended = client.end().catch(() => {})
    if (isConnected) await ended
  }
}

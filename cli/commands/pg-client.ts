import { createRequire } from 'node:module'
import type pg from 'pg'
import { assertCompleteUrl, decodedPart, throwInvalidUrl, withPlainScheme } from '../args/server-url.js'
import { CliError, loadPackage } from '../output/cli-error.js'
import { type CommandTarget, cliErrorOf } from '../output/error-hints.js'

/** The oldest version of the driver that is tested. */
const OLDEST_MINOR = 16
const INSTALL = `npm i pg@^8.${OLDEST_MINOR}`

/** The user's driver, of a version that fits. */
export async function loadPg(): Promise<typeof pg> {
  const { default: driver } = await loadPackage('pg', () => import('pg'), INSTALL)
  const { version } = createRequire(import.meta.url)('pg/package.json') as { readonly version: string }
  const [major, minor] = version.split('.').map(Number)
  if (major !== 8 || (minor ?? 0) < OLDEST_MINOR) {
    throw new CliError(`pg ${version} is not supported; install a newer one with: ${INSTALL}`)
  }
  return driver
}

/** A URL of Postgres, which the driver understands as we do. One that is none is not repeated: it may hold a password anywhere. */
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

/** Runs `work` on a connection of its own. */
export async function withPg<V>(asked: CommandTarget, work: (client: pg.Client) => Promise<V>): Promise<V> {
  const { url } = asked
  const driver = await loadPg()
  const client = new driver.Client({
    connectionString: checkPostgresUrl(url),
    connectionTimeoutMillis: 10_000,
    application_name: 'listwatch',
  })
  client.on('error', () => {}) // Whatever it is, the query that waits fails of it.
  let isConnected = false
  try {
    await client.connect()
    isConnected = true
    return await work(client)
  } catch (error) {
    throw error instanceof CliError ? error : cliErrorOf(error, asked)
  } finally {
    // A driver that finds no password leaves its connection open; one that never had any does not answer.
    const ended = client.end().catch(() => {})
    if (isConnected) await ended
  }
}

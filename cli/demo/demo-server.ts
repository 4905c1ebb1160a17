import type pg from 'pg'
import { messageOf } from '../../src/contract/errors.js'
import { systemRandom } from '../../src/contract/random.js'
import { startPostgres } from '../../tools/postgres/postgres-server.js'
import { CliError } from '../output/cli-error.js'
import { withPg } from '../sources/pg-client.js'
import type { DemoPackages } from './demo-packages.js'

/** A database of the demo alone. */
export interface DemoServer {
  readonly url: string
  /** Removes the database. */
  stop(): Promise<void>
}

const MAY_CREATE = 'SELECT 1 FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolcreatedb)'

/** Starts a Postgres server with an empty database. Rejects with a CliError, or with the signal's reason if it aborts. */
export async function startServer({ binDir }: DemoPackages, signal: AbortSignal): Promise<DemoServer> {
  try {
    return await startPostgres({ binDir, settings: { synchronous_commit: 'off' }, signal })
  } catch (error) {
    signal.throwIfAborted()
    throw new CliError(messageOf(error))
  }
}

/** Creates an empty database on the user's server, whose URL has been checked. The demo then cannot touch the user's tables. */
export async function createDatabase(given: string, { driver }: DemoPackages): Promise<DemoServer> {
  const name = `listwatch_demo_${Math.floor(systemRandom.next() * 2 ** 32).toString(36)}`
  const url = new URL(given)
  const target = { url: url.href }
  const create = async (client: pg.Client): Promise<void> => {
    const { rowCount } = await client.query(MAY_CREATE)
    if (rowCount === 0) throw new CliError('the user of the URL may not create a database; run: ALTER ROLE … CREATEDB')
    await client.query(`CREATE DATABASE ${name}`)
  }
  await withPg(target, create, driver)
  url.pathname = `/${name}`
  const drop = `DROP DATABASE ${name} WITH (FORCE)`
  return { url: url.href, stop: async () => void (await withPg(target, (client) => client.query(drop), driver)) }
}

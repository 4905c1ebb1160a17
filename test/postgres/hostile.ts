import { Client } from 'pg'
import { onTestFinished } from 'vitest'
import { Database, type TestServer } from './support.js'

/** It counts even if the transaction of the attack is rolled back. */
const ALARM = 'CREATE SEQUENCE public.alarm; GRANT USAGE ON SEQUENCE public.alarm TO PUBLIC'

export const TABLE: string =
  'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g FROM generate_series(1, 9) g'
export const PARTITIONED: string = `CREATE TABLE p (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);
  CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (0) TO (100); INSERT INTO p SELECT g, g FROM generate_series(1, 9) g`
export const RENEWAL: string = `SELECT listwatch.renew_lease('g', 'm', 0, '{}', '{}', '{}')`

/** A database with an alarm. Its roles are dropped after it, because it has their objects and rights. */
export async function prepared(at: TestServer, setup: string): Promise<Database> {
  let name: string | undefined
  onTestFinished(async () => {
    if (name !== undefined) await dropRolesOf(at, name)
  })
  const db = await at.database()
  name = db.name
  await db.sql(`${setup}; ${ALARM}`)
  return db
}

async function dropRolesOf(at: TestServer, prefix: string): Promise<void> {
  const admin = new Client(new Database('postgres', at.server.port).config())
  await admin.connect()
  const { rows } = await admin.query(`SELECT rolname FROM pg_roles WHERE rolname LIKE '${prefix}\\_%'`)
  for (const { rolname } of rows) await admin.query(`DROP ROLE ${rolname}`)
  await admin.end()
}

/** A new role that may log in. */
export async function roleOf(db: Database, what: string): Promise<string> {
  const role = `${db.name}_${what}`
  await db.sql(`CREATE ROLE ${role} LOGIN`)
  return role
}

/** A new role that owns the table, and may create objects in a schema of its own, which has its name. */
export async function ownerOf(db: Database, table: string): Promise<string> {
  const owner = await roleOf(db, 'owner')
  await db.sql(
    `CREATE SCHEMA AUTHORIZATION ${owner}; GRANT CREATE ON SCHEMA public TO ${owner}; ALTER TABLE ${table} OWNER TO ${owner}`,
  )
  return owner
}

/** Statements of PL/pgSQL that raise the alarm if they run with the rights of another role than the attacker. */
export function alarmUnless(attacker: string): string {
  return `IF current_user <> '${attacker}' THEN PERFORM pg_catalog.nextval('public.alarm'); END IF;`
}

export async function isAlarmRaised(db: Database): Promise<unknown> {
  return await db.value('SELECT is_called FROM public.alarm')
}

/** Runs statements one after the other. Returns the messages of those that failed. */
export async function attempt(client: Client, statements: readonly string[]): Promise<string[]> {
  const messages: string[] = []
  for (const statement of statements) {
    await client.query(statement).catch((error: unknown) => messages.push(String(error)))
  }
  return messages
}

/** Returns undefined, or the error with which the promise rejects. */
export async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** A client that a source takes for one behind a pooler: its statements are parsed at each poll. */
export function pooledClient(db: Database): Client {
  const client = new Client(db.config())
  let processID: number | null = null
  Object.defineProperty(client, 'processID', {
    get: () => processID,
    set: (id: number | null) => {
      processID = id === null ? null : -id
    },
  })
  return client
}

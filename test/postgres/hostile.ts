import { readFile } from 'node:fs/promises'
import { Client } from 'pg'
import { expect, onTestFinished } from 'vitest'
import { installLeases } from '../../adapters/postgres/index.js'
import { Database, type TestServer } from './support.js'

/** It counts even if the transaction of the attack is rolled back. */
const ALARM = 'CREATE SEQUENCE public.alarm; GRANT USAGE ON SEQUENCE public.alarm TO PUBLIC'

export const TABLE: string =
  'CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t SELECT g, g FROM generate_series(1, 9) g'
export const PARTITIONED: string = `CREATE TABLE p (id int PRIMARY KEY, n int) PARTITION BY RANGE (id);
  CREATE TABLE p_low PARTITION OF p FOR VALUES FROM (0) TO (100); INSERT INTO p SELECT g, g FROM generate_series(1, 9) g`
/** Writes to `TABLE` once its key has the type `trap`. */
export const TRAPPED_WRITES: readonly string[] = [
  'INSERT INTO t VALUES (ROW(50), 0)',
  'UPDATE t SET n = 0 WHERE (id).v = 1',
  'UPDATE t SET id = ROW(60) WHERE (id).v = 1',
  'DELETE FROM t WHERE (id).v = 2',
]
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
  for (const statement of statements)
    await client.query(statement).catch((error: unknown) => messages.push(String(error)))
  return messages
}

/** Returns undefined, or the error with which the promise rejects. */
export async function outcomeOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** A type with casts that run a function of the attacker: `trap`, made of an int by `trap_of`. */
export function trapType(schema: string, attacker: string): readonly string[] {
  return [
    `CREATE TYPE ${schema}.trap AS (v int)`,
    `CREATE FUNCTION ${schema}.trap_of(int) RETURNS ${schema}.trap LANGUAGE sql IMMUTABLE AS 'SELECT ROW($1)::${schema}.trap'`,
    ...['int4', 'int8', 'text'].flatMap((target) => [
      `CREATE FUNCTION ${schema}.to_${target}(${schema}.trap) RETURNS pg_catalog.${target} LANGUAGE plpgsql AS
        $$ BEGIN ${alarmUnless(attacker)} RETURN 4711; END $$`,
      `CREATE CAST (${schema}.trap AS pg_catalog.${target}) WITH FUNCTION ${schema}.to_${target}(${schema}.trap) AS ASSIGNMENT`,
    ]),
  ]
}

/** The mirrored table `TABLE`, and its owner. `changeType` changes the type of the key to `trap`, which the owner has created. */
export async function ownedTable(
  db: Database,
  level: 'statement' | 'row',
  trapOf: typeof trapType = trapType,
): Promise<{ db: Database; owner: string; client: Client; changeType: string }> {
  const owner = await ownerOf(db, 't')
  await db.install('t', { level, wake: 'none' })
  const client = await db.connect({ user: owner })
  expect(await attempt(client, trapOf(owner, owner))).toEqual([])
  const changeType = `ALTER TABLE t ALTER id TYPE ${owner}.trap USING ${owner}.trap_of(id)`
  return { db, owner, client, changeType }
}

/** A role that owns the tables t and u, may create the schema listwatch, and is not a superuser. */
export async function ownerOfTwo(at: TestServer): Promise<{ db: Database; owner: string; client: Client }> {
  const db = await prepared(at, `${TABLE}; CREATE TABLE u (id int PRIMARY KEY, n int)`)
  const owner = await ownerOf(db, 't')
  await db.sql(`ALTER TABLE u OWNER TO ${owner}; GRANT CREATE ON DATABASE ${db.name} TO ${owner}`)
  return { db, owner, client: await db.connect({ user: owner }) }
}

/** Two roles, each of which may use the leases of one group: group-a and group-b. */
export async function workers(at: TestServer): Promise<{ db: Database; admin: Client; a: string; b: string }> {
  const db = await prepared(at, 'SELECT')
  const [a, b] = [await roleOf(db, 'a'), await roleOf(db, 'b')]
  const admin = await db.connect()
  await installLeases(admin, { grant: [a], groups: ['group-a'] })
  await installLeases(admin, { grant: [b], groups: ['group-b'] })
  return { db, admin, a, b }
}

/** Installs schema version 1 on the tables t and p. */
export async function installVersion1(db: Database, reader: string): Promise<void> {
  const fixture = await readFile(new URL('./schema-1.sql', import.meta.url), 'utf8')
  await db.sql(fixture.replaceAll('schema_1_reader', reader))
}

/** A client that a source takes for one behind a pooler: its statements are parsed at each poll. */
export function pooledClient(db: Database): Client {
  const client = new Client(db.config())
  let processID: number | null = null
  Object.defineProperty(client, 'processID', {
    get: () => processID,
    set: (id: number | null) => (processID = id === null ? null : -id),
  })
  return client
}

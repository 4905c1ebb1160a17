import { randomUUID } from 'node:crypto'
import { type KV, Kvm } from '@nats-io/kv'
import { connect, type NatsConnection } from '@nats-io/transport-node'
import { Etcd3 } from 'etcd3'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import type { Backend } from './leases.js'

export interface Write {
  readonly key: string
  readonly value: number
  readonly fence: number
  readonly isAccepted: boolean
}

/** A table that refuses a write with a smaller fence than an earlier write of the same key had. It records all writes. */
export interface FencedTable {
  /** Returns whether the write was accepted. */
  write(key: string, value: number, fence: number): Promise<boolean>
  writes(): Promise<readonly Write[]>
  close(): Promise<void>
}

/** Opens the table of a backend. Kubernetes compares no numbers, so its table is in the etcd beneath. */
export function openTable(backend: Backend, port: number): FencedTable {
  if (backend === 'postgres') return new PostgresTable(port)
  if (backend === 'nats') return new NatsTable(port)
  return backend === 'redis' ? new RedisTable(port) : new EtcdTable(port)
}

const SQL = `
  CREATE TABLE fenced (key text PRIMARY KEY, value bigint NOT NULL, fence bigint NOT NULL);
  CREATE TABLE writes (at bigserial, key text, value bigint, fence bigint, accepted boolean);
  CREATE FUNCTION fenced_write(of_key text, new_value bigint, new_fence bigint) RETURNS boolean LANGUAGE plpgsql AS $$
  DECLARE accepted boolean;
  BEGIN
    INSERT INTO fenced AS old VALUES (of_key, new_value, new_fence)
      ON CONFLICT (key) DO UPDATE SET value = new_value, fence = new_fence WHERE old.fence <= new_fence;
    accepted := FOUND;
    INSERT INTO writes (key, value, fence, accepted) VALUES (of_key, new_value, new_fence, accepted);
    RETURN accepted;
  END $$`

class PostgresTable implements FencedTable {
  readonly #pool: Pool

  constructor(port: number) {
    this.#pool = new Pool({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' })
    this.#pool.on('error', () => {})
  }

  async create(): Promise<void> {
    await this.#pool.query(SQL)
  }

  async write(key: string, value: number, fence: number): Promise<boolean> {
    const { rows } = await this.#pool.query('SELECT fenced_write($1, $2, $3) AS accepted', [key, value, fence])
    return rows[0].accepted
  }

  async writes(): Promise<readonly Write[]> {
    const { rows } = await this.#pool.query('SELECT key, value, fence, accepted FROM writes ORDER BY at')
    return rows.map((row) => ({
      key: row.key,
      value: Number(row.value),
      fence: Number(row.fence),
      isAccepted: row.accepted,
    }))
  }

  async close(): Promise<void> {
    await this.#pool.end()
  }
}

const SCRIPT = `
  local accepted = tonumber(ARGV[3]) >= tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '-1')
  if accepted then redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
  redis.call('RPUSH', KEYS[2], cjson.encode({ key = ARGV[1], value = ARGV[2], fence = ARGV[3], isAccepted = accepted }))
  return accepted and 1 or 0`

class RedisTable implements FencedTable {
  readonly #client: Redis

  constructor(port: number) {
    this.#client = new Redis({ host: '127.0.0.1', port })
    this.#client.on('error', () => {})
  }

  async write(key: string, value: number, fence: number): Promise<boolean> {
    return (await this.#client.eval(SCRIPT, 2, 'fenced', 'writes', key, value, fence)) === 1
  }

  async writes(): Promise<readonly Write[]> {
    const lines = await this.#client.lrange('writes', 0, -1)
    return lines.map((line) => {
      const write = JSON.parse(String(line))
      return { ...write, value: Number(write.value), fence: Number(write.fence) }
    })
  }

  async close(): Promise<void> {
    this.#client.disconnect()
  }
}

class EtcdTable implements FencedTable {
  readonly #client: Etcd3

  constructor(port: number) {
    this.#client = new Etcd3({ hosts: `http://127.0.0.1:${port}` })
  }

  async write(key: string, value: number, fence: number): Promise<boolean> {
    for (;;) {
      const { kvs } = await this.#client.get(`fenced/${key}`).exec()
      const isAccepted = Number(kvs[0]?.value ?? -1) <= fence
      const write: Write = { key, value, fence, isAccepted }
      const written = this.#client.put(`writes/${randomUUID()}`).value(JSON.stringify(write))
      const fenced = this.#client.put(`fenced/${key}`).value(fence)
      const { succeeded } = await this.#client
        .if(`fenced/${key}`, 'Mod', '==', Number(kvs[0]?.mod_revision ?? 0))
        .then(written, ...(isAccepted ? [fenced] : []))
        .commit()
      if (succeeded) return isAccepted
    }
  }

  async writes(): Promise<readonly Write[]> {
    const { kvs } = await this.#client.getAll().prefix('writes/').sort('Mod', 'Ascend').exec()
    return kvs.map(({ value }) => JSON.parse(String(value)))
  }

  async close(): Promise<void> {
    this.#client.close()
  }
}

/** Each key of a bucket has all writes of this key, in their order. */
class NatsTable implements FencedTable {
  readonly #connection: Promise<NatsConnection>
  readonly #bucket: Promise<KV>

  constructor(port: number) {
    this.#connection = connect({ port, maxReconnectAttempts: -1 })
    this.#bucket = this.#connection.then((connection) => new Kvm(connection).create('fenced'))
  }

  async write(key: string, value: number, fence: number): Promise<boolean> {
    const bucket = await this.#bucket
    for (;;) {
      const found = await bucket.get(key)
      const writes: readonly Write[] = found?.length ? found.json() : []
      const greatest = Math.max(-1, ...writes.filter((write) => write.isAccepted).map((write) => write.fence))
      const isAccepted = greatest <= fence
      const next = JSON.stringify([...writes, { key, value, fence, isAccepted } satisfies Write])
      try {
        await (found === null ? bucket.create(key, next) : bucket.update(key, next, found.revision))
        return isAccepted
      } catch (error) {
        if (!/wrong last sequence/i.test(String(error))) throw error
      }
    }
  }

  async writes(): Promise<readonly Write[]> {
    const bucket = await this.#bucket
    const writes: Write[] = []
    for await (const key of await bucket.keys())
      writes.push(...((await bucket.get(key))?.json<readonly Write[]>() ?? []))
    return writes
  }

  async close(): Promise<void> {
    await (await this.#connection).close()
  }
}

/** Creates what the table of Postgres needs. The others need nothing. */
export async function createTable(backend: Backend, port: number): Promise<FencedTable> {
  const table = openTable(backend, port)
  if (table instanceof PostgresTable) await table.create()
  return table
}

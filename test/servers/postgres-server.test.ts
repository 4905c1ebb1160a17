import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isRunning } from '../../tools/postgres/platform.js'
import { type PostgresServer, startPostgres } from '../../tools/postgres/postgres-server.js'
import { describePostgres, describeServer } from './index.js'
import { waitUntil } from './wait-until.js'

const settings = { fsync: 'off', max_connections: '20' }

describePostgres('a Postgres of our own', ({ binDir, env, version }) => {
  let server: PostgresServer
  beforeAll(async () => (server = await startPostgres({ binDir, env, settings })))
  afterAll(() => server.stop('immediate'))

  test('is of the version asked for, and takes its settings', async () => {
    expect(await query(server, 'SELECT version()')).toMatch(`PostgreSQL ${version}`)
    expect(server.version).toBe(version)
    expect(await query(server, 'SHOW max_connections')).toBe('20')
  })

  test('listens on 127.0.0.1 and nowhere else', async () => {
    expect(await query(server, 'SHOW listen_addresses')).toBe('127.0.0.1')
    expect(await query(server, 'SHOW unix_socket_directories')).toBe('')
  })

  test('refuses connections after a crash, leaves no process behind, and has its committed data after the restart', async () => {
    const { port, pid } = server
    const backend = new Client(server.url)
    backend.on('error', () => {})
    await backend.connect()
    const { rows } = await backend.query('SELECT pg_backend_pid() AS pid')
    await query(server, 'CREATE TABLE kept AS SELECT 42 AS n')

    await server.kill()

    expect(server.pid).toBeUndefined()
    await expect(query(server, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    expect([await isRunning(pid ?? 0), await isRunning(rows[0].pid)]).toEqual([false, false])
    await server.restart()
    expect(server.port).toBe(port)
    expect(await query(server, 'SELECT n FROM kept')).toBe(42)
    expect(await server.log()).toMatch('was not properly shut down')
  })

  test('is down after a halt, and comes back clean after a fast one', async () => {
    await server.halt()
    await expect(query(server, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' })
    const before = (await server.log()).length
    await server.restart()
    expect((await server.log()).slice(before)).not.toMatch('was not properly shut down')
  })
})

describeServer('postgres 18', 'the life of a Postgres', () => {
  test('a stop removes the folder, and is final', async () => {
    const server = await startPostgres({ settings })
    await server.stop()
    await expect(access(join(server.dataDir, '..'))).rejects.toMatchObject({ code: 'ENOENT' })
    await expect(server.restart()).rejects.toThrow('was stopped')
  })

  test('a data folder that was given outlives the server, with its data', async () => {
    const dataDir = join(tmpdir(), `listwatch-test-${process.pid}`)
    await using _ = { [Symbol.asyncDispose]: () => rm(dataDir, { recursive: true, force: true }) }
    const first = await startPostgres({ dataDir, settings })
    await query(first, 'CREATE TABLE kept AS SELECT 7 AS n')
    await first.stop()
    await using second = await startPostgres({ dataDir, settings })
    expect(await query(second, 'SELECT n FROM kept')).toBe(7)
  })

  test('an aborted start rejects with the reason of the signal', async () => {
    const stop = new AbortController()
    const starting = startPostgres({ settings, signal: stop.signal })
    stop.abort(new Error('enough'))
    await expect(starting).rejects.toThrow('enough')
  })

  test('a setting that Postgres does not know is named in the error', async () => {
    await expect(startPostgres({ settings: { shared_bufers: '1MB' } })).rejects.toThrow(
      /^Postgres 18\S* did not start: .*unrecognized configuration parameter "shared_bufers"/,
    )
  })

  test('a process that is killed takes its Postgres and the folder with it', async () => {
    const program = `
    const { startPostgres } = await import(${JSON.stringify(new URL('../../tools/postgres/postgres-server.ts', import.meta.url))})
    const { pid, dataDir } = await startPostgres()
    console.log(JSON.stringify({ pid, dataDir }))
    setInterval(() => {}, 1000)`
    const hooks = new URL('../../scripts/typescript.mjs', import.meta.url).href
    const child = spawn(process.execPath, ['--import', hooks, '--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    using _ = { [Symbol.dispose]: () => child.kill('SIGKILL') }
    const [line] = await once(createInterface(child.stdout), 'line')
    const { pid, dataDir } = JSON.parse(line)
    expect(await isRunning(pid)).toBe(true)
    child.kill('SIGKILL')
    await waitUntil('the end of the Postgres', async () => !(await isRunning(pid)))
    await waitUntil('the end of its folder', () => access(join(dataDir, '..')).then(no, yes))
  })
})

async function query(server: PostgresServer, text: string): Promise<unknown> {
  const client = new Client(server.url)
  client.on('error', () => {})
  await client.connect()
  await using _ = { [Symbol.asyncDispose]: () => client.end() }
  const result = await client.query({ text, rowMode: 'array' })
  return result.rows[0]?.[0]
}

const yes = (): boolean => true
const no = (): boolean => false

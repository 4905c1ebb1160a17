// A follower of a table in a worker thread. It waits for each mark that it receives, and sends the row.
import { parentPort, workerData } from 'node:worker_threads'
import pg from 'pg'
import { postgresSource } from '../../adapters/postgres/index.js'
import { sharedSource } from '../../serving/share/index.js'
import { createInformer } from '../../src/index.js'

const { port, config } = workerData
// It compares marks, and opens no connection.
const upstream = postgresSource({ connect: () => new pg.Client(config), table: 't' })
const rows = createInformer({ source: sharedSource<object>({ port, upstream }) })
async function send(mark: string): Promise<void> {
  await rows.waitFor(mark, { timeoutMs: 60_000 })
  parentPort?.postMessage(rows.get('1'))
}

parentPort?.on('message', (mark: string) => void send(mark))
await rows.start().synced()
parentPort?.postMessage('synced')

// The writer of the demo of SQLite: a process of its own, because the demo kills it. It begins with the message `start`,
// and ends with any other one. If the demo was killed, it removes the file.
import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DemoWriter } from './demo-writer.js'
import { writerConnection } from './sqlite-connection.js'

const [path = ''] = process.argv.slice(2)
let writer: DemoWriter<number> | undefined
let isEnding = false

// Ctrl-C reaches all processes of a terminal. The demo ends this one.
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => {})
process.on('message', (command) => void (command === 'start' ? start() : end()))
process.on('disconnect', () => void abandoned())
if (!process.connected) void abandoned()

function start(): void {
  const database = new DatabaseSync(path)
  database.exec('PRAGMA busy_timeout = 5000') // Node 22.15 and older versions ignore the option "timeout".
  const connection = writerConnection(database)
  writer = new DemoWriter(connection, () => {
    if (process.connected) process.send?.('committed', () => {}) // The demo may have ended.
  })
  writer.start()
}

async function end(): Promise<void> {
  isEnding = true
  await writer?.stop()
  process.disconnect()
}

async function abandoned(): Promise<void> {
  if (isEnding) return
  isEnding = true
  await writer?.stop().catch(() => {})
  rmSync(dirname(path), { recursive: true, force: true })
}

import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import type { ClientFactory, NodePostgresClient } from '../../../../adapters/postgres/connection/client-factory.js'
import { Session } from '../../../../adapters/postgres/connection/session.js'
import { VirtualClock } from '../../../../testing/index.js'
import { failure } from '../../../support/failure.js'

const TIMEOUT_MS = 4_000
/** How often a session checks whether bytes have arrived, in milliseconds. */
const PERIOD_MS = TIMEOUT_MS / 4

/** A session whose next query has no response before `respond` is called. `stream.bytesRead` counts received bytes. */
async function sessionOf(more: object = {}) {
  const clock = new VirtualClock(0)
  const response = Promise.withResolvers<void>()
  const stream = Object.assign(more, { bytesRead: 0, destroy: () => {}, pause: () => {}, resume: () => {} })
  const client = {
    connect: async () => {},
    query: async ({ text }: { readonly text: string }) => {
      if (text === 'SELECT slow') await response.promise
      return { rows: [{ pid: '7', version: '180004' }] }
    },
    end: async () => {},
    on: () => {},
    getTypeParser: () => String,
    connection: { query: () => {}, stream },
    processID: 7,
  } as unknown as NodePostgresClient
  const clients = { next: async () => client } as unknown as ClientFactory
  const session = await Session.open(clients, { clock, signal: new AbortController().signal, timeoutMs: TIMEOUT_MS })
  return { clock, session, stream, respond: () => response.resolve() }
}

test('an abort ends a session whose client is still being made', async () => {
  const clients = { next: () => new Promise(() => {}) } as unknown as ClientFactory
  const opening = Session.open(clients, { clock: new VirtualClock(0), signal: AbortSignal.timeout(10), timeoutMs: 1 })
  await expect(opening).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('a response with pauses is waited for as long as bytes arrive between them', async () => {
  const { clock, session, stream, respond } = await sessionOf()
  const rows = session.query('SELECT slow')
  for (let pause = 0; pause < 4; pause++) {
    await clock.advance(3 * PERIOD_MS) // Shorter than the time-out.
    stream.bytesRead += 100
    await clock.advance(PERIOD_MS)
  }
  respond()
  expect(await rows).toHaveLength(1)
})

test('a response of which no bytes arrive for the whole time-out is UNAVAILABLE', async () => {
  const { clock, session, stream } = await sessionOf()
  const rows = session.query('SELECT slow')
  stream.bytesRead += 100
  const late = expect(rows).rejects.toMatchObject(failure('UNAVAILABLE', 'no answer'))
  await clock.advance(6 * PERIOD_MS)
  await late
})

test('[P20] an error of the parser of pg ends the session, and not the process', async () => {
  const stream = new PassThrough()
  const chunks: unknown[] = []
  stream.on('data', (chunk) => {
    chunks.push(chunk)
    if (chunks.length === 2) throw Object.assign(new Error('too long'), { code: 'ERR_STRING_TOO_LONG' })
  })
  const { session } = await sessionOf(stream)
  const rows = session.query('SELECT slow')
  stream.emit('data', 'one')
  stream.emit('data', 'two')
  await expect(rows).rejects.toMatchObject({ code: 'UNAVAILABLE', cause: { code: 'ERR_STRING_TOO_LONG' } })
  expect(chunks).toEqual(['one', 'two'])
})

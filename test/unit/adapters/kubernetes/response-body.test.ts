import { createServer, get, type IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { IDLE, ResponseBody } from '../../../../adapters/kubernetes/http/response-body.js'
import { systemClock } from '../../../../src/contract/clock.js'
import { waitUntil } from '../../../servers/wait-until.js'
import { portOf } from '../../../support/listening.js'

test('a response that was paused because its bytes were not taken continues once they are taken', async () => {
  const size = 4 * 1024 * 1024
  const server = createServer((_question, answer) => answer.end(Buffer.alloc(size)))
  const port = await portOf(server)
  const response = await new Promise<IncomingMessage>((resolve) => get({ host: '127.0.0.1', port }, resolve))
  const body = new ResponseBody(response, systemClock)
  await waitUntil('the response to be paused', () => response.isPaused())
  let bytes = 0
  for (;;) {
    const taken = await body.take(3_000)
    expect(taken).not.toBe(IDLE)
    if (taken === undefined || taken === IDLE) break
    for (const chunk of taken) bytes += chunk.length
  }
  expect(bytes).toBe(size)
})

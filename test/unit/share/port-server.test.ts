import { MessageChannel } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { servePort } from '../../../adapters/share/port-server.js'
import { waitUntil } from '../../servers/wait-until.js'

test('the requests of a port that closes are aborted', async () => {
  const { port1, port2 } = new MessageChannel()
  const signals: AbortSignal[] = []
  const closed = vi.fn()
  const handler = ({ signal }: Request): Promise<Response> => {
    signals.push(signal)
    return new Promise(() => {})
  }
  servePort(port1, handler, closed)
  port2.postMessage({ type: 'request', id: 1, path: '/list' })
  port2.postMessage({ type: 'request', id: 2, path: '/list' })
  await waitUntil('the requests', () => signals.length === 2)
  expect(closed).not.toHaveBeenCalled()
  port2.close()
  await waitUntil('the end of the port', () => closed.mock.calls.length === 1)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
})

test('a request is aborted by its follower, and the other requests of the port continue', async () => {
  const { port1, port2 } = new MessageChannel()
  const signals: AbortSignal[] = []
  servePort(
    port1,
    ({ signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    },
    () => {},
  )
  port2.postMessage({ type: 'request', id: 1, path: '/list' })
  port2.postMessage({ type: 'request', id: 2, path: '/list' })
  port2.postMessage({ type: 'abort', id: 1 })
  await waitUntil('the abort', () => signals[0]?.aborted === true)
  expect(signals[1]?.aborted).toBe(false)
  port2.close()
})

import { MessageChannel } from 'node:worker_threads'
import { expect, test, vi } from 'vitest'
import { type PortHandler, servePort } from '../../../../serving/share/port-server.js'
import { waitUntil } from '../../../servers/wait-until.js'

/** A handler that does not respond. */
function handlerOf(signals: AbortSignal[]): PortHandler {
  const wait = ({ signal }: { readonly signal: AbortSignal }): Promise<never> => {
    signals.push(signal)
    return new Promise(() => {})
  }
  return { answer: wait, open: wait }
}

test('the requests of a port that closes are aborted', async () => {
  const { port1, port2 } = new MessageChannel()
  const signals: AbortSignal[] = []
  const closed = vi.fn()
  servePort(port1, handlerOf(signals), closed)
  port2.postMessage({ type: 'request', id: 1, path: '/list' })
  port2.postMessage({ type: 'open', id: 2 })
  await waitUntil('the requests', () => signals.length === 2)
  expect(closed).not.toHaveBeenCalled()
  port2.close()
  await waitUntil('the end of the port', () => closed.mock.calls.length === 1)
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
})

import { expect, test } from 'vitest'
import type { NatsClient, NatsMessage } from '../../../../adapters/nats/connection/nats-client.js'
import { Session } from '../../../../adapters/nats/connection/session.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'

const TIMEOUT_MS = 10_000

/** A connection whose messages are delivered by the test. */
class ScriptedClient implements NatsClient {
  deliver: (message: NatsMessage) => void = () => {}
  /** The subjects at which responses are expected. */
  readonly replies: string[] = []

  publish(_subject: string, _payload: string, { reply = '' }: { reply?: string } = {}): void {
    this.replies.push(reply)
  }

  subscribe(_subject: string, { callback }: Parameters<NatsClient['subscribe']>[1]): { unsubscribe(): void } {
    this.deliver = (message) => callback(null, message)
    return { unsubscribe() {} }
  }

  async *status(): AsyncGenerator<{ readonly type: string }> {
    await new Promise(() => {})
    yield { type: 'never' }
  }

  isClosed(): boolean {
    return false
  }

  isDraining(): boolean {
    return false
  }
}

function requested() {
  const [clock, client] = [new VirtualClock(), new ScriptedClient()]
  const { signal } = new AbortController()
  const session = new Session({ client, prefix: '$JS.API.', signal, clock, timeoutMs: TIMEOUT_MS })
  const response = session.request<{ n: number }>('STREAM.INFO.KV_bucket')
  response.catch(() => {})
  const [subject = ''] = client.replies
  const value = { subject: '$KV.bucket.a', data: new Uint8Array(1) }
  return { clock, client, response, value, reply: { subject, data: Buffer.from('{"n":1}') } }
}

test('a response that arrives behind other messages is waited for while these arrive', async () => {
  const { clock, client, response, value, reply } = requested()
  for (let at = 0; at < 5; at++) {
    await clock.advance(TIMEOUT_MS - 1_000)
    client.deliver(value)
  }
  client.deliver(reply)
  expect(await response).toEqual({ n: 1 })
})

test.each([
  ['timeoutMs after the last value, although the watch has heartbeats', 1],
  ['six times timeoutMs, although values arrive', 6],
])('a response is not waited for longer than %s', async (_title, values) => {
  const { clock, client, response, value } = requested()
  for (let at = 0; at < values; at++) {
    client.deliver(value)
    await clock.advance(TIMEOUT_MS - 1)
  }
  client.deliver({ subject: client.replies[0]?.replace(/\d+$/, '99') ?? '', data: new Uint8Array() })
  await clock.advance(values)
  await expect(response).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'STREAM.INFO timed out' })
})

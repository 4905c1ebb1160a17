import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serveShared, sharedSource } from '../../../../serving/share/index.js'
import { portClient } from '../../../../serving/share/port-client.js'
import { BASE_URL, type ShareMessage, WINDOW_BYTES } from '../../../../serving/share/port-messages.js'
import { createInformer, type OptionError } from '../../../../src/index.js'
import { waitUntil } from '../../../servers/wait-until.js'
import { failure } from '../../../support/failure.js'
import { type Account, accounts, sharedAccounts } from './accounts.js'

/** The messages that arrive at a port, which a test reads by hand. */
function received(port: MessagePort): ShareMessage[] {
  const messages: ShareMessage[] = []
  port.on('message', (message: ShareMessage) => messages.push(message))
  onTestFinished(() => port.close())
  return messages
}

const bytesIn = (messages: readonly ShareMessage[]): number =>
  messages.reduce((sum, message) => sum + (message.type === 'frame' ? message.bytes.length : 0), 0)

const bodyOf = (messages: readonly ShareMessage[], of: number): Uint8Array => {
  const found = messages.find(({ type, id }) => type === 'response' && id === of)
  return (found?.type === 'response' && found.body) || new Uint8Array()
}

/** Requests a watch from now on. */
async function watching(port: MessagePort, messages: readonly ShareMessage[]): Promise<void> {
  port.postMessage({ type: 'request', id: 1, path: '/version' })
  await waitUntil('the version', () => bodyOf(messages, 1).length > 0)
  const { version } = JSON.parse(new TextDecoder().decode(bodyOf(messages, 1)))
  port.postMessage({ type: 'request', id: 2, path: `/watch?after=${encodeURIComponent(version)}` })
  await waitUntil('the watch', () => messages.some(({ type, id }) => type === 'response' && id === 2))
}

test('[T10] a follower over a port with a scope has only the objects of that scope', async () => {
  await using shared = sharedAccounts(accounts(10))
  const where = { tenant: 'umbra' }
  const follower = shared.follow({ port: shared.share.port({ where }) })
  where.tenant = 'acme'
  await follower.synced()
  shared.source.put('u', { tenant: 'umbra', balance: 1 })
  shared.source.put('a', { tenant: 'acme', balance: 1 })
  await follower.fresh()
  expect([...follower.keys()].sort()).toEqual(['1', '3', '5', '7', '9', 'u'])
})

test('a follower over a port shares its port with another source', async () => {
  await using shared = sharedAccounts(accounts(10))
  const port = shared.share.port()
  const both = [shared.follow({ port }), shared.follow({ port })]
  await Promise.all(both.map((each) => each.synced()))
  await both[0]?.stop()
  shared.source.put('a', { tenant: 'acme', balance: 1 })
  await both[1]?.fresh()
  expect(both[1]?.size).toBe(11)
})

describe('a port', () => {
  test('[T5] whose share is closed makes the follower fail, and the error says what to do', async () => {
    await using shared = sharedAccounts(accounts(2))
    const follower = shared.follow({ port: shared.share.port() })
    await follower.synced()
    await shared.share.close()
    await waitUntil('the state', () => follower.status.state === 'failed')
    expect(follower.status.lastError).toMatchObject(failure('NOT_FOUND', 'create an informer with another port'))
    expect(follower.size).toBe(2)
  })

  test('[T5] that was closed before its first use makes the follower fail', async () => {
    await using shared = sharedAccounts()
    const byShare = shared.share.port()
    const byUser = shared.share.port()
    byUser.close()
    await shared.share.close()
    await waitUntil('the end of the events', () => new Promise((resolve) => setTimeout(resolve, 20, true)))
    for (const port of [byShare, byUser])
      await expect(shared.follow({ port }).synced({ timeoutMs: 5_000 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  test('that is closed by the follower ends its watch in the share, and other followers continue', async () => {
    await using shared = sharedAccounts(accounts(2))
    const port = shared.share.port()
    const other = shared.follow({ port: shared.share.port() })
    const follower = shared.follow({ port })
    await Promise.all([follower.synced(), other.synced()])
    port.close()
    // A silent watch would be closed after 5.4 s.
    await waitUntil('the state', () => follower.status.state === 'failed', 4_000)
    shared.source.put('a', { tenant: 'acme', balance: 1 })
    await other.fresh()
    expect(other.size).toBe(3)
  })

  test('of another program makes the follower fail', async () => {
    const { port1, port2 } = new MessageChannel()
    port1.on('message', () => port1.postMessage('hello'))
    const follower = createInformer({ source: sharedSource<Account>({ port: port2 }) })
    follower.on('error', () => {})
    await expect(follower.start().synced({ timeoutMs: 5_000 })).rejects.toMatchObject(
      failure('PROTOCOL', 'the port is not one of share.port()'),
    )
    await follower.stop()
    port1.close()
  })

  test('refuses the mark of another source by its own name, not as a source for HTTP', async () => {
    await using shared = sharedAccounts(accounts(2))
    const follower = shared.follow({ port: shared.share.port() })
    await follower.synced()
    await expect(follower.waitFor('1.1.5')).rejects.toMatchObject(
      failure('INVALID_MARK', 'the version is not one of share:port (the option "upstream"'),
    )
  })

  test('ignores messages that are not requests', async () => {
    await using shared = sharedAccounts(accounts(2))
    const port = shared.share.port()
    for (const message of [
      'x',
      null,
      { type: 'request', id: 'a' },
      { type: 'read', id: 9, bytes: 1 },
      { type: 'abort', id: 9 },
    ])
      port.postMessage(message)
    await shared.follow({ port }).synced()
  })

  test('answers a request with a wrong path with an error', async () => {
    await using shared = sharedAccounts(accounts(2))
    const port = shared.share.port()
    const messages = received(port)
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    port.postMessage({ type: 'request', id: 1, path: '/other' })
    port.postMessage({ type: 'request', id: 2, path: ':x' })
    await waitUntil('both responses', () => messages.length === 2)
    warned.mockRestore()
    const statuses = messages.map((message) => [message.id, message.type === 'response' && message.status])
    expect(Object.fromEntries(statuses)).toEqual({ 1: 404, 2: 500 })
  })
})

test('[T3] a watch that is not read has a bounded number of bytes on its way, and continues when it is read', async () => {
  await using shared = sharedAccounts()
  await shared.informer.synced()
  const port = shared.share.port()
  const messages = received(port)
  await watching(port, messages)
  for (let i = 0; i < 100; i++) shared.source.put(`${i}`, { tenant: 'x'.repeat(20_000), balance: i })
  await shared.informer.fresh()
  const other = shared.follow({ port: shared.share.port() })
  await waitUntil('a follower that reads', () => other.size === 100)
  const unread = bytesIn(messages)
  expect(unread).toBeGreaterThanOrEqual(WINDOW_BYTES)
  expect(unread).toBeLessThan(WINDOW_BYTES + 50_000)
  for (let reported = 0; bytesIn(messages) < 100 * 20_000; ) {
    const bytes = bytesIn(messages) - reported
    reported += bytes
    port.postMessage({ type: 'read', id: 2, bytes })
    await waitUntil('the next frames', () => bytesIn(messages) > reported)
  }
})

test('an aborted watch receives no more frames', async () => {
  await using shared = sharedAccounts()
  await shared.informer.synced()
  const port = shared.share.port()
  const messages = received(port)
  await watching(port, messages)
  port.postMessage({ type: 'abort', id: 2 })
  port.postMessage({ type: 'request', id: 3, path: '/version' })
  await waitUntil('a later response', () => bodyOf(messages, 3).length > 0)
  const before = messages.length
  shared.source.put('a', { tenant: 'acme', balance: 1 })
  const other = shared.follow({ port: shared.share.port() })
  await waitUntil('the change', () => other.size === 1)
  expect(messages.slice(before)).toEqual([])
})

test('[T1] the parts of a list are one piece of memory for all followers', async () => {
  await using shared = sharedAccounts(accounts(10))
  const bodies: Uint8Array[] = []
  for (let i = 0; i < 2; i++) {
    const port = shared.share.port()
    const messages = received(port)
    port.postMessage({ type: 'request', id: 1, path: '/list' })
    await waitUntil('the list', () => messages.some(({ type }) => type === 'end'))
    const [, part] = messages.filter((message) => message.type === 'frame')
    if (part !== undefined) bodies.push(part.bytes)
  }
  const [first = new Uint8Array(), second = new Uint8Array()] = bodies
  expect(first.buffer).toBeInstanceOf(SharedArrayBuffer)
  expect(new TextDecoder().decode(second.slice())).toContain('"balance":9')
  first[0] = 63
  expect(second[0]).toBe(63)
})

test('a request whose signal has aborted is not sent, and rejects with the reason', async () => {
  const { port1, port2 } = new MessageChannel()
  const messages = received(port2)
  const reason = new Error('stopped')
  const { fetch } = portClient(port1)
  await expect(fetch(`${BASE_URL}/list`, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason)
  expect(port1.hasRef()).toBe(false)
  const closing = new AbortController()
  const response = fetch(`${BASE_URL}/version`, { signal: closing.signal })
  await waitUntil('the request', () => messages.length > 0)
  expect(messages).toEqual([{ type: 'request', id: expect.anything(), path: '/version' }])
  closing.abort(reason)
  await expect(response).rejects.toBe(reason)
})

test('[T8] an informer that stops leaves its port without requests', async () => {
  await using shared = sharedAccounts(accounts(2))
  const port = shared.share.port()
  const follower = shared.follow({ port })
  await waitUntil('the watch', () => follower.status.state === 'live')
  expect(port.hasRef()).toBe(true)
  await follower.stop()
  expect(port.hasRef()).toBe(false)
})

describe('a mistake in the program', () => {
  const optionOf = (call: () => unknown): string | undefined => {
    try {
      call()
    } catch (error) {
      return `${(error as OptionError).option}: ${(error as Error).message}`
    }
    return undefined
  }

  test('in the options of sharedSource names the option', () => {
    const { port1: port } = new MessageChannel()
    expect(optionOf(() => sharedSource({}))).toBe('port: sharedSource: option "port" or "path" is missing')
    expect(optionOf(() => sharedSource({ port, path: '/x' }))).toBe(
      'port: sharedSource: "port" and "path" exclude each other',
    )
    expect(optionOf(() => sharedSource({ port: {} as MessagePort }))).toMatch(
      'port: sharedSource: option "port" must be a MessagePort',
    )
    expect(optionOf(() => sharedSource({ path: '' }))).toMatch(/^path: /)
    expect(optionOf(() => sharedSource({ port, upstream: {} as never }))).toMatch(/^upstream: /)
    port.close()
  })

  test('[T10] in the options of a share names the option', async () => {
    await using shared = sharedAccounts()
    const { share } = shared
    expect(optionOf(() => serveShared({} as never))).toMatch(/^informer: /)
    expect(optionOf(() => serveShared(shared.informer, { historyBytes: 0 }))).toMatch(/^historyBytes: /)
    expect(optionOf(() => share.port({ where: { color: 'red' } as never }))).toBe(
      'where: share.port: the informer has no index "color"',
    )
    expect(optionOf(() => share.port({ where: { tenant: undefined as never } }))).toMatch(/^where: .*no value/)
    expect(optionOf(() => share.port({ where: new Map([['tenant', 'acme']]) as never }))).toMatch(
      /^where: .*plain object/,
    )
    expect(optionOf(() => share.port({ where: undefined as never }))).toMatch(/^where: .*plain object/)
    for (const path of ['', `/tmp/${'x'.repeat(100)}`])
      await expect(share.listen(path)).rejects.toMatchObject({ option: 'path' })
    await share.close()
    expect(() => share.port()).toThrow(expect.objectContaining({ code: 'STOPPED' }))
    await expect(share.listen('/tmp/x.sock')).rejects.toMatchObject({ code: 'STOPPED' })
  })
})

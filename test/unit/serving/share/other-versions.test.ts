import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { accounts, sharedAccounts } from './accounts.js'

/** A port to the share of another version of listwatch: `change` changes the snapshots that it sends. */
function portOfOther(port: MessagePort, change: (snapshot: object) => unknown) {
  const { port1, port2 } = new MessageChannel()
  const paths: unknown[] = []
  port1.on('message', (message: object) => {
    if ('path' in message) paths.push(message.path)
    port.postMessage(message)
  })
  port.on('message', (message: object) => {
    const isSnapshot = 'snapshot' in message && typeof message.snapshot === 'object' && message.snapshot !== null
    port1.postMessage(isSnapshot ? { ...message, snapshot: change(message.snapshot as object) } : message)
  })
  for (const each of [port, port1]) each.unref()
  return { port: port2, paths }
}

test.each<[string, (snapshot: object) => unknown]>([
  ['of a later format', (snapshot) => ({ ...snapshot, format: 2 })],
  ['of a format without a number', (snapshot) => ({ ...snapshot, format: undefined })],
  ['with other fields', () => ({ format: 2, tables: [] })],
])('[T17] a snapshot %s is not used: the follower lists', async (_what, change) => {
  await using shared = sharedAccounts(accounts(10))
  const { port, paths } = portOfOther(shared.share.port(), change)
  const follower = shared.follow({ port })
  await follower.synced({ timeoutMs: 5_000 })
  expect(follower.size).toBe(10)
  expect(paths).toContainEqual(expect.stringMatching(/^\/list\?/))
  shared.source.put('10', { tenant: 'acme', balance: 10 })
  await expect.poll(() => follower.size).toBe(11)
})

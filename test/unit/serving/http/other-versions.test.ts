import { describe, expect, test } from 'vitest'
import { httpSource } from '../../../../serving/http/index.js'
import { createInformer, type Informer, type SourceError } from '../../../../src/index.js'
import { failure } from '../../../support/failure.js'
import { fetchFrom, servedAccounts } from './mirror.js'

const FEED = 'f'.repeat(22)
const ada = { tenant: 'a', balance: 1 }

interface Script {
  /** The events of the list. */
  readonly list: readonly object[]
  readonly version?: string
  /** The frames of each watch. */
  readonly watch?: string
  /** The type of the part of the list. */
  readonly type?: string
}

/** A follower of a server of another version, which sends what the script has. */
function followerOf({ list, version = `h1.${FEED}.0.`, watch = '', type = 'part' }: Script) {
  const paths: string[] = []
  const follower: Informer<unknown> = createInformer({
    source: httpSource({
      url: 'http://mirror.test/m',
      fetch: async (url, { signal }) => {
        const { pathname, searchParams } = new URL(url)
        paths.push(pathname.slice(2))
        const isList = pathname === '/m/list'
        const frames = [
          ['begin', { version, request: searchParams.get('request') }],
          ...(isList
            ? [
                [type, { events: list }],
                ['end', {}],
              ]
            : []),
        ].map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)
        const body = new ReadableStream({
          start(controller) {
            controller.enqueue(new TextEncoder().encode(frames.join('') + (isList ? '' : watch)))
            signal?.addEventListener('abort', () => controller.error(signal.reason))
          },
        })
        return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
      },
    }),
  })
  const errors: SourceError[] = []
  follower.on('error', (error) => errors.push(error))
  return {
    follower,
    errors,
    lists: () => paths.filter((path) => path === '/list').length,
    [Symbol.asyncDispose]: () => follower.stop(),
  }
}

function frame(sequence: number, type: string, events: readonly object[]): string {
  const data = { version: `h1.${FEED}.${sequence}.`, events }
  return `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}

describe('[V16] an object whose form another version of the server knows', () => {
  const good = { type: 'put', key: 'a', object: 1 }
  const others = [
    ['without an object', { type: 'put', key: 'b', compressed: 'eJw=' }],
    ['with an unknown tag of a value', { type: 'put', key: 'b', encoded: ['t', 'PT1H'] }],
  ] as const

  test.each(others)('%s is invalid after a list, and the others arrive', async (_what, event) => {
    await using other = followerOf({ list: [good, event] })
    await other.follower.start().synced({ timeoutMs: 5_000 })
    expect([...other.follower.entries()]).toEqual([['a', 1]])
    expect(other.follower.invalid.get('b')).toMatchObject({ code: 'DECODE' })
  })

  test.each(others)('%s is invalid after a change, and its last good state stays', async (_what, event) => {
    const watch = frame(1, 'batch', [event]) + frame(2, 'batch', [{ type: 'put', key: 'c', object: 3 }])
    await using other = followerOf({ list: [good, { ...good, key: 'b' }], watch })
    await other.follower.start().synced({ timeoutMs: 5_000 })
    await expect.poll(() => other.follower.get('c')).toBe(3)
    expect([other.follower.get('b'), other.follower.invalid.has('b'), other.lists()]).toEqual([1, true, 1])
  })
})

test.each([
  [
    'an event of an unknown type',
    { list: [{ type: 'patch', key: 'a', path: '/n', value: 1 }] },
    /an event of the type "patch".*another version of listwatch/,
  ],
  [
    'a list of another version of the protocol',
    { list: [], version: `h2.${FEED}.0.` },
    /the server has version 2 of the protocol, and this follower version 1: update/,
  ],
  [
    'a list with a part of an unknown type',
    { list: [], type: 'compressed' },
    /the response is not a list of serveHttp/,
  ],
])('[V16] %s is PROTOCOL, and the error names it and the remedy', async (_what, script, message) => {
  await using other = followerOf(script)
  await expect(other.follower.start().synced({ timeoutMs: 5_000 })).rejects.toMatchObject(failure('PROTOCOL', message))
})

test('[V17] a frame of an unknown type costs a list: its changes are missing', async () => {
  const watch = [
    frame(1, 'batch', [{ type: 'put', key: 'b', object: 2 }]),
    frame(2, 'delta', [{ type: 'delete', key: 'a' }]),
    frame(3, 'batch', [{ type: 'put', key: 'c', object: 3 }]),
  ]
  await using other = followerOf({ list: [{ type: 'put', key: 'a', object: 1 }], watch: watch.join('') })
  await other.follower.start().synced({ timeoutMs: 5_000 })
  await expect.poll(() => other.errors.map(({ code }) => code)).toContain('VERSION_EXPIRED')
  expect(other.follower.get('c')).toBeUndefined()
})

test('[V17] a version of another version of the protocol is one of another server: the follower lists', async () => {
  await using served = servedAccounts([['ada', ada]])
  await served.informer.synced()
  const request = (after: string) =>
    fetchFrom(() => served.mirror)(`http://mirror.test/accounts/watch?after=${encodeURIComponent(after)}`, {})
  expect((await request(`h2.${FEED}.5.more`)).status).toBe(410)
  expect((await request('5')).status).toBe(400)
})

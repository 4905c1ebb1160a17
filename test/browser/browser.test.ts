import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { beforeAll, describe, expect, test } from 'vitest'
import { memorySource } from '../../adapters/memory/index.js'
import { nodeListener, serveHttp } from '../../serving/http/index.js'
import { createInformer } from '../../src/index.js'
import { describeServer, type FoundServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { root } from '../support/sources.js'
import { postedBy } from './chromium.js'

/** The page with the built package, as a bundler makes it for browsers. Refuses imports that no browser has. */
async function bundledPage(name: string): Promise<string> {
  await using bundle = await rolldown({
    input: join(root, 'test/browser', name),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"development"' } },
    onLog(_level, { message }) {
      throw new Error(message)
    },
  })
  const { output } = await bundle.generate({ format: 'esm' })
  const [entry, ...rest] = output
  expect(rest).toEqual([])
  return entry.code
}

let page = ''
let follower = ''
let react = ''
beforeAll(async () => {
  await ensureBuilt()
  page = await bundledPage('page.ts')
  follower = await bundledPage('follower-page.ts')
  react = await bundledPage('react-page.tsx')
})

/** Runs a page that follows a mirror of these entries, and returns what it posts. The page has them changed at `/write`. */
async function postedByFollower<T>(
  chromium: FoundServer,
  script: string,
  entries: readonly (readonly [string, T])[],
  ...written: readonly [string, T]
): Promise<unknown> {
  const source = memorySource({ entries })
  await using informer = createInformer({ source, freeze: false }).start()
  await using mirror = serveHttp(informer, { heartbeatMs: 500 })
  const serve = nodeListener(mirror)
  const posted = await postedBy(chromium, script, (request, response) => {
    if (request.url !== '/write') return serve(request, response)
    source.put(...written)
    response.end()
  })
  return JSON.parse(posted)
}

describe('[D9] a bundle of listwatch and listwatch/memory for browsers', () => {
  test('imports nothing', () => expect(page).not.toMatch(/^import |\bimport\(|\brequire\(/m))

  describeServer('chromium', 'in Chromium', (chromium) => {
    test('lists, watches, reconnects, indexes and stops', async () => {
      const seen: unknown = JSON.parse(await postedBy(chromium, page))
      expect(seen).toEqual({
        hasNode: false,
        first: [2, [{ tenant: 'acme', total: 1 }], [{ tenant: 'birch', total: 2 }]],
        snapshot: [2, 1],
        changes: [['add', '1', { tenant: 'acme', total: 10 }]],
        state: 'stopped',
        reconnects: 1,
        told: ['add 1 initial', 'add 2 initial', 'update 1 1 → 10', 'delete 2'],
        runs: expect.arrayContaining(['1', '2 deleted']),
      })
    })
  })
})

describe('a bundle of listwatch and listwatch/http for browsers', () => {
  test('imports nothing', () => expect(follower).not.toMatch(/^import |\bimport\(|\brequire\(/m))

  describeServer('chromium', 'in Chromium', (chromium) => {
    test('follows a mirror that a server of Node serves', async () => {
      const order = { tenant: 'acme', at: new Date(5) }
      const first = { ...order, total: 1, bytes: new Uint8Array([1, 255]) }
      const second = { ...order, total: 2, bytes: new Uint8Array() }
      expect(await postedByFollower(chromium, follower, [['1', first]], '2', second)).toEqual({
        hasNode: false,
        first: [1],
        values: [5, [1, 255]],
        later: [1, 2],
        state: 'stopped',
      })
    })
  })
})

describe('a bundle of listwatch/react and listwatch/http for browsers', () => {
  test('imports nothing', () => expect(react).not.toMatch(/^import .* from |= import\(/m))

  describeServer('chromium', 'in Chromium', (chromium) => {
    test('shows the objects of a follower, and renders only components whose objects change', async () => {
      const entries = Object.entries({ 1: { tenant: 'acme', total: 1 }, 2: { tenant: 'birch', total: 2 } })
      expect(await postedByFollower(chromium, react, entries, '1', { tenant: 'acme', total: 10 })).toEqual({
        before: 'idle, order 1:  |acme:  |birch:  |',
        first: 'live, order 1: 1 |acme: 1 |birch: 2 |',
        later: 'live, order 1: 10 |acme: 10 |birch: 2 |',
        rendersOfOthers: 0,
        stopped: 'stopped, order 1: 10 |acme: 10 |birch: 2 |',
      })
    })
  })
})

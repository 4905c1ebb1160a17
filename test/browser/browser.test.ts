import { join } from 'node:path'
import { rolldown } from 'rolldown'
import { beforeAll, describe, expect, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { ensureBuilt } from '../support/build.js'
import { root } from '../support/sources.js'
import { postedBy } from './chromium.js'

/** The page with the built package, as a bundler makes it for browsers. Refuses imports that no browser has. */
async function bundledPage(): Promise<string> {
  await using bundle = await rolldown({
    input: join(root, 'test/browser/page.ts'),
    platform: 'browser',
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
beforeAll(async () => {
  await ensureBuilt()
  page = await bundledPage()
})

describe('a bundle of listwatch and listwatch/memory for browsers', () => {
  test('imports nothing', () => {
    expect(page).not.toMatch(/^import |\bimport\(|\brequire\(/m)
  })

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

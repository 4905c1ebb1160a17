import { closeSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../adapters/memory/index.js'
import { fileCache } from '../../caches/file/index.js'
import { createInformer, SourceError } from '../../src/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { life, resumedFrom } from './life.js'
import { folder } from './support.js'

test('an informer resumes from the file, with all values that JSON loses', async () => {
  const values = { date: new Date(5), big: 2n ** 65n, bytes: Uint8Array.of(1), map: new Map([[1, undefined]]) }
  const source = memorySource<unknown>({ entries: Object.entries(values) })
  const cache = { path: join(folder(), 'a.cache') }
  expect((await life({ source, cache, expected: values })).lists).toBe(1)
  source.put('new', -0)
  source.delete('big')
  const { big: _big, ...rest } = values
  expect(await life({ source, cache, expected: { ...rest, new: -0 } })).toEqual(
    resumedFrom(Object.keys(values), ['add new', 'delete big']),
  )
})

test('a damaged file costs one list and one warning', async () => {
  const source = memorySource({ entries: [['a', 1]] })
  const path = join(folder(), 'a.cache')
  await life({ source, cache: { path }, expected: { a: 1 } })
  writeFileSync(path, 'damaged')
  const { lists, warnings } = await life({ source, cache: { path }, expected: { a: 1 } })
  expect([lists, warnings]).toEqual([1, [expect.stringContaining('it is not a file of fileCache')]])
  expect((await life({ source, cache: { path }, expected: { a: 1 } })).lists).toBe(0)
})

test('a save that fails is an error event with the path, and the informer continues', async () => {
  const source = memorySource<unknown>({ entries: [['a', 1]] })
  const path = join(folder(), 'missing', 'a.cache')
  const { errors } = await life({ source, cache: { path }, expected: { a: 1 } })
  expect(errors).toEqual(['UNAVAILABLE'])
  const unsavable = await life({
    source: memorySource<unknown>({ entries: [['a', { run: setTimeout }]] }),
    cache: { path: join(folder(), 'a.cache') },
    expected: { a: { run: setTimeout } },
  })
  expect(unsavable.errors).toEqual(['PROTOCOL'])
})

test('with serveStale the saved objects are readable while the source is down', async () => {
  const source = memorySource({ entries: [['a', 1]] })
  const path = join(folder(), 'a.cache')
  await life({ source, cache: { path }, expected: { a: 1 } })
  source.fail(new SourceError('down', { code: 'UNAVAILABLE' }), 1_000)
  const informer = createInformer({ source, cache: fileCache({ path, serveStale: true }), audit: false })
  onTestFinished(() => informer.stop())
  informer.on('error', () => {})
  informer.start()
  await waitUntil('the saved objects', () => informer.get('a') === 1)
  expect(informer.status).toMatchObject({ state: 'stale', isSynced: false, savedAt: expect.any(Number) })
  expect(informer.health().isReady).toBe(false)
})

test('[H14] a file that is changed after the check costs one list, and no wrong object is returned', async () => {
  const count = 30_000
  const source = memorySource({
    entries: Array.from({ length: count }, (_, n) => [`k${n}`, { n, text: 'x'.repeat(80) }]),
  })
  const path = join(folder(), 'a.cache')
  const start = (warnings: string[]) =>
    createInformer({
      source,
      cache: fileCache({ path }),
      audit: false,
      logger: { debug() {}, info() {}, error() {}, warn: (message) => void warnings.push(message) },
    }).start()
  const first = start([])
  await first.synced()
  await first.stop()
  const warnings: string[] = []
  const second = start(warnings)
  onTestFinished(() => second.stop())
  await new Promise<void>((shown) => second.on('status', ({ state }) => state === 'stale' && shown()))
  expect(second.get('k0')).toMatchObject({ n: 0 })
  // In place: a file that replaces it would be another one.
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(Math.floor(statSync(path).size / 2), 'x'), 0, undefined, 60)
  closeSync(file)
  for (let n = 0; n < count; n += 1_000) expect([undefined, n]).toContain(second.get(`k${n}`)?.n)
  await waitUntil('the list', () => second.status.relists === 1 && second.status.state === 'live')
  for (let n = 0; n < count; n++) expect(second.get(`k${n}`)?.n).toBe(n)
  expect(warnings).toEqual([expect.stringContaining('a saved object cannot be used: block ')])
})

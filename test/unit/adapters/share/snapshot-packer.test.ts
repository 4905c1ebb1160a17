import { expect, onTestFinished, test, vi } from 'vitest'
import { type Account, accounts } from './accounts.js'

/** All results of `deflateRawSync`. */
const compressed = vi.hoisted((): Uint8Array[] => [])

vi.mock('node:zlib', async (importOriginal) => {
  const zlib = await importOriginal<typeof import('node:zlib')>()
  const deflateRawSync = (...args: Parameters<typeof zlib.deflateRawSync>): Uint8Array => {
    const bytes = zlib.deflateRawSync(...args)
    compressed.push(bytes)
    return bytes
  }
  return { ...zlib, deflateRawSync }
})

test('a pack frees each block when it is in shared memory', async () => {
  // Without isolation, an earlier file has loaded these modules without the mock.
  vi.resetModules()
  const { createInformer } = await import('../../../../src/index.js')
  const { internalsOf } = await import('../../../../src/informer/internals.js')
  const { sharedSource, serveShared } = await import('../../../../adapters/share/index.js')
  const { memorySource } = await import('../../../../testing/index.js')
  const informer = createInformer({ source: memorySource<Account>({ entries: accounts(3_000) }) }).start()
  await informer.synced()
  const mirror = internalsOf(informer)?.objects
  if (mirror === undefined) throw new Error('the informer cannot be packed')
  const blocks: Uint8Array[] = []
  const pin = mirror.pin.bind(mirror)
  vi.spyOn(mirror, 'pin').mockImplementation(() => {
    const pinned = pin()
    return {
      size: pinned.size,
      close: () => pinned.close(),
      *pack(...args) {
        for (const part of pinned.pack(...args)) {
          if (part !== undefined && 'block' in part) blocks.push(part.block)
          yield part
        }
      },
    }
  })
  const share = serveShared(informer)
  const follower = createInformer({ source: sharedSource<Account>({ port: share.port() }) }).start()
  onTestFinished(async () => {
    await follower.stop()
    await share.close()
    await informer.stop()
  })
  await follower.synced()
  expect(blocks.length).toBeGreaterThan(3)
  expect(compressed).toHaveLength(blocks.length)
  expect(new Set([...blocks, ...compressed].map(({ length }) => length))).toEqual(new Set([0]))
  expect(new Map(follower.entries())).toEqual(new Map(informer.entries()))
})

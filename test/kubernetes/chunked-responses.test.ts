import { describe, expect, test } from 'vitest'
import { waitUntil } from '../servers/wait-until.js'
import { usedHeap } from '../soak/heap.js'
import { isAnyList, isPlainList } from './fake.js'
import { Mirror } from './mirror.js'

describe('an answer, however its bytes come', () => {
  test('that is not an event is reported, and skipped by a watch from before it', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      await mirror.fake.collection.watching[0]?.write('<html>502 Bad Gateway</html>\n')
      await mirror.until('it to be reported', () => mirror.errors.length > 0)
      await mirror.follows('k1', 1)
    }))

  test('with an object that is too large reports it as invalid, and continues', () =>
    Mirror.live({ fill: 1, source: { maxObjectBytes: 100_000 } }, async (mirror) => {
      mirror.fake.collection.put('large', 'x'.repeat(200_000))
      const version = mirror.fake.collection.put('k1', 1)
      await mirror.until('what comes after it', () => mirror.hasReached(version))
      expect([[...mirror.informer.invalid.keys()], mirror.informer.list().length]).toEqual([['default/large'], 2])
      await mirror.follows('large', 'small again')
    }))

  test('with a line that never ends is given up, and takes no memory meanwhile', () =>
    Mirror.live({ fill: 1, source: { maxObjectBytes: 100_000 } }, async (mirror) => {
      const watch = mirror.fake.collection.watching[0]
      mirror.fake.collection.forget(watch)
      await watch?.write('{"type":"MODIFIED","object":{"data":{"n":"')
      await usedHeap()
      const before = process.memoryUsage().arrayBuffers
      const megabyte = Buffer.alloc(1 << 20, 120)
      for (let megabytes = 0; megabytes < 64; megabytes++) await watch?.write(megabyte)
      await usedHeap()
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 << 20)
      await mirror.pass(150_000)
      await mirror.until('it to be given up', () => watch?.isOpen === false)
      await mirror.follows('k1', 1)
    }))

  for (const [name, body] of [
    ['is empty', ''],
    ['is not JSON', '<html>down for maintenance</html>'],
    ['is a number', '5'],
    ['is null', 'null'],
    ['has an unknown code', '{"kind":"Status","code":"many","message":{},"reason":7,"details":{"causes":9}}'],
    ['has causes that are null', '{"kind":"Status","code":500,"details":{"causes":[null,[],"x"]}}'],
    ['is endless', `{"message":"${'x'.repeat(5_000_000)}"}`],
  ] as const)
    test(`whose failure ${name} is tried again`, () =>
      Mirror.with({ fill: 1 }, async (mirror) => {
        mirror.fake.next(isAnyList, (exchange) => exchange.text(body, 500))
        await mirror.live()
        await mirror.healed()
        expect(mirror.codes).toEqual(['UNAVAILABLE'])
        expect(mirror.errors[0]?.message.length).toBeLessThan(2_000)
      }))

  test('whose items are null is an empty list, and the end of what there was', () =>
    Mirror.live({ source: { streamingLists: false }, fill: 2 }, async (mirror) => {
      const { collection } = mirror.fake
      for (const watch of collection.watching) collection.forget(watch)
      mirror.fake.next(isPlainList, (exchange) => {
        for (const name of collection.names) collection.delete(name)
        const metadata = `"metadata":{"resourceVersion":"${collection.version}"}`
        exchange.text(`{"kind":"ConfigMapList",${metadata},"items":null}`, 200)
      })
      const relisted = mirror.informer.relist().then(() => true)
      await mirror.soon(relisted)
      expect([mirror.informer.size, mirror.errors]).toEqual([0, []])
    }))

  test('of an unknown kind is accepted', () =>
    Mirror.live({ fill: 1 }, async (mirror) => {
      await mirror.fake.collection.watching[0]?.event('SOMETHING', mirror.fake.collection.at()[0])
      await mirror.follows('k1', 1)
      await waitUntil('all events', () => mirror.delivered.objects.size === 2)
    }))
})

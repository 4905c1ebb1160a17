import { describe, expect, test } from 'vitest'
import { waitUntil } from '../servers/wait-until.js'
import { usedHeap } from '../soak/heap.js'
import { isAnyList, isPlainList, isWatch } from './fake.js'
import { Mirror } from './mirror.js'

/** A character of four bytes, one of two halves in JSON, and what JSON must escape. */
const AWKWARD = '𝄞 é \\ " \n } ] { [ \u2028'

describe('an answer, however its bytes come', () => {
  for (const size of [1, 7, 4_096])
    test(`is a list: in pieces of ${size} bytes, cut in the middle of characters`, () =>
      Mirror.with(
        {
          prepare: (fake) => {
            fake.collection.hasStreamedLists = false
            for (let at = 0; at < 20; at++) fake.collection.put(`k${at}`, AWKWARD + at)
            fake.next(isPlainList, (exchange) => {
              const items = fake.collection.at()
              const metadata = { resourceVersion: fake.collection.version }
              void exchange.pieces(JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items }), size)
            })
          },
        },
        async (mirror) => {
          await mirror.live()
          await mirror.healed()
          expect(mirror.errors).toEqual([])
        },
      ))

  test('is a list whose metadata comes after its items, as for custom resources', () =>
    Mirror.with(
      {
        prepare: (fake) => {
          fake.collection.hasStreamedLists = false
          fake.collection.fill(5)
          fake.next(isPlainList, (exchange) => {
            const items = fake.collection.at()
            const metadata = { resourceVersion: fake.collection.version }
            exchange.json({ apiVersion: 'v1', items, kind: 'ConfigMapList', metadata })
          })
        },
      },
      async (mirror) => {
        await mirror.live()
        await mirror.healed()
        expect(mirror.informer.version).toContain(mirror.fake.collection.version)
      },
    ))

  for (const size of [1, 7, 4_096])
    test(`is a watch: in pieces of ${size} bytes, cut in the middle of characters`, () =>
      Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
        const watched = mirror.fake.taken(isWatch)
        mirror.informer.start()
        await mirror.until('the list', () => mirror.informer.status.isSynced)
        mirror.fake.collection.watching[0]?.end()
        const watch = await mirror.soon(watched)
        for (let at = 0; at < 10; at++) mirror.fake.collection.put(`k${at}`, AWKWARD + at)
        const lines = mirror.fake.collection.at().map((object) => `${JSON.stringify({ type: 'MODIFIED', object })}\n`)
        void watch.pieces(lines.join(''), size, { isOpen: true })
        await mirror.healed()
        expect(mirror.errors.filter(({ code }) => code === 'DECODE')).toEqual([])
      }))

  test('that breaks off in the middle of a list is rejected', () =>
    Mirror.with(
      {
        prepare: (fake) => {
          fake.collection.hasStreamedLists = false
          fake.collection.fill(50)
          fake.next(isPlainList, (exchange) => {
            const metadata = { resourceVersion: fake.collection.version }
            const items = fake.collection.at()
            const body = JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items })
            void exchange.write(body.slice(0, body.length >> 1)).then(() => exchange.end())
          })
        },
      },
      async (mirror) => {
        await mirror.live()
        await mirror.healed()
        expect(mirror.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE'])
      },
    ))

  test('that ends in the middle of an event loses neither that event nor its version', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      const { collection } = mirror.fake
      const over = mirror.fake.rule(isWatch, (exchange) => exchange.reset())
      const watch = collection.watching[0]
      collection.forget(watch)
      collection.put('k1', 'late')
      const line = `${JSON.stringify({ type: 'ADDED', object: collection.at()[1] })}\n`
      await watch?.write(line.slice(0, 60))
      watch?.end()
      over()
      await mirror.healed()
      expect(mirror.relists).toBe(0)
    }))

  test('that is not an event is reported, and skipped by a watch from before it', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      await mirror.fake.collection.watching[0]?.write('<html>502 Bad Gateway</html>\n')
      await mirror.until('it to be reported', () => mirror.errors.length > 0)
      mirror.fake.collection.put('k1', 1)
      await mirror.healed()
    }))

  test('with an object that is too large reports it as invalid, and continues', () =>
    Mirror.with(
      { prepare: ({ collection }) => collection.fill(1), source: { maxObjectBytes: 100_000 } },
      async (mirror) => {
        await mirror.live()
        mirror.fake.collection.put('large', 'x'.repeat(200_000))
        const version = mirror.fake.collection.put('k1', 1)
        await mirror.until('what comes after it', () => mirror.hasReached(version))
        expect([...mirror.informer.invalid.keys()]).toEqual(['default/large'])
        expect(mirror.informer.list()).toHaveLength(2)
        mirror.fake.collection.put('large', 'small again')
        await mirror.healed()
      },
    ))

  test('with a line that never ends is given up, and takes no memory meanwhile', () =>
    Mirror.with(
      { prepare: ({ collection }) => collection.fill(1), source: { maxObjectBytes: 100_000 } },
      async (mirror) => {
        await mirror.live()
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
        mirror.fake.collection.put('k1', 1)
        await mirror.healed()
      },
    ))

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
      Mirror.with(
        {
          prepare: (fake) => {
            fake.collection.fill(1)
            fake.next(isAnyList, (exchange) => exchange.text(body, 500))
          },
        },
        async (mirror) => {
          await mirror.live()
          await mirror.healed()
          expect(mirror.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE'])
          expect(mirror.errors[0]?.message.length).toBeLessThan(2_000)
        },
      ))

  test('whose items are null is an empty list, and the end of what there was', () =>
    Mirror.with(
      { source: { streamingLists: false }, prepare: ({ collection }) => collection.fill(2) },
      async (mirror) => {
        await mirror.live()
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
      },
    ))

  test('with an object without a name is invalid, and the rest of it is there', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      const { collection } = mirror.fake
      await collection.watching[0]?.event('MODIFIED', { metadata: { resourceVersion: collection.pass() } })
      mirror.fake.collection.put('k1', 1)
      await mirror.healed()
      expect(mirror.errors).toMatchObject([{ code: 'DECODE' }])
      expect(mirror.errors[0]?.message).toContain('it has no metadata.name')
      expect([mirror.relists, mirror.informer.status.reconnects]).toEqual([0, 0])
    }))

  test('of an unknown kind is accepted', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      await mirror.fake.collection.watching[0]?.event('SOMETHING', mirror.fake.collection.at()[0])
      mirror.fake.collection.put('k1', 1)
      await mirror.healed()
      await waitUntil('all events', () => mirror.delivered.objects.size === 2)
    }))
})

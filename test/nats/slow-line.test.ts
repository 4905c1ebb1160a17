import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { describeServer } from '../servers/index.js'
import { positionOf } from './contract-checker.js'
import { Stage } from './stage.js'
import { useNats } from './support.js'

const BYTES_PER_SECOND = 1_000_000

describeServer('nats 2.15', 'over a connection of 1 MB/s', (server) => {
  const shared = useNats(server)

  test.concurrent.each([
    ['many values', 12, 500_000],
    ['a large value', 1, 6_000_000],
  ])('a bucket with %s is listed at the first attempt, and so it catches up', async (_title, values, bytes) => {
    const source = { codec: (value: Uint8Array) => ({ n: value[0] ?? 0 }), heartbeatMs: 10_000 }
    // The response to a ping arrives behind the value. The default of the client is two minutes.
    await Stage.with({ nats: shared.nats, source, speed: 1, pingMs: 20_000 }, async (stage) => {
      const write = async (n: number): Promise<void> => {
        for (let at = 0; at < values; at++) await stage.kv.put(`k${at}`, new Uint8Array(bytes).fill(n))
      }
      const isShown = (n: number): boolean =>
        stage.informer.size === values && [...stage.informer.list()].every((object) => object.n === n)
      await write(1)
      stage.proxy.throttle(BYTES_PER_SECOND)
      stage.informer.start()
      await stage.until('the list', () => isShown(1), 40_000)
      expect(stage.errors).toEqual([])
      stage.cut()
      await write(2)
      stage.proxy.pass()
      stage.proxy.throttle(BYTES_PER_SECOND)
      const errors = stage.errors.length
      await stage.until('the catch-up', () => isShown(2), 40_000)
      const later = stage.errors.slice(errors).map(({ message }) => message)
      expect(later.filter((message) => !/connection was lost/.test(message))).toEqual([])
      expect(stage.relists).toBe(0)
    })
  })
})

const DELAY_MS = 30

describeServer('nats 2.15', 'over a connection with a delay of 30 ms', (server) => {
  const shared = useNats(server)

  test('[J2] a mirror whose newest 200 keys were purged while it was away is resumed at the first attempt', async () => {
    await Stage.with({ nats: shared.nats, speed: 1 }, async (stage) => {
      await stage.fill(200)
      await stage.live()
      stage.cut()
      await stage.ask(`STREAM.PURGE.${stage.stream}`)
      const errors = stage.errors.length
      stage.proxy.pass()
      stage.proxy.delay(DELAY_MS)
      await stage.healed()
      const later = stage.errors.slice(errors).map(({ message }) => message)
      expect(later.filter((message) => !/connection was lost/.test(message))).toEqual([])
      expect([stage.informer.size, stage.relists]).toEqual([0, 0])
    })
  })

  test('[J17] a version never passes a write that is not shown, though keys are overwritten all the time', async () => {
    await Stage.with({ nats: shared.nats, speed: 1 }, async (stage) => {
      await stage.fill(300)
      stage.proxy.delay(4 * DELAY_MS)
      const written: { readonly key: string; readonly n: number; readonly seq: number }[] = []
      let isDone = false
      const write = async (key: string): Promise<void> => {
        for (let n = 1; !isDone; n++, await sleep(20)) written.push({ key, n, seq: await stage.put(key, n) })
      }
      const hot = ['hot0', 'hot1', 'hot2']
      const writing = Promise.all(hot.map(write))
      const lies: unknown[] = []
      const isCaughtUp = (): boolean => {
        const { seq } = positionOf(stage.informer.version ?? '')
        for (const key of hot) {
          const last = written.findLast((one) => one.key === key && one.seq <= seq)?.n ?? 0
          const n = stage.informer.get(key)?.n ?? 0
          if (n < last) lies.push({ key, n, last, seq })
        }
        return stage.informer.get('m3999') !== undefined
      }
      await stage.live()
      stage.cut()
      for (let at = 0; at < 4_000; at += 100)
        await Promise.all(Array.from({ length: 100 }, (_, each) => stage.put(`m${at + each}`, 1)))
      stage.proxy.pass()
      stage.proxy.delay(4 * DELAY_MS)
      await stage.until('the catch-up', isCaughtUp, 60_000)
      isDone = true
      await writing
      await stage.healed()
      expect([lies, stage.relists]).toEqual([[], 0])
    })
  })
})

import { describe, expect, test } from 'vitest'
import { describeRedis } from '../servers/index.js'
import { userClient } from './drivers.js'
import { Mirror } from './mirror.js'
import { forms, showsAll } from './padded.js'
import { useRedis } from './support.js'

const BYTES_PER_SECOND = 1_000_000
let names = 0

describeRedis.concurrent('over a connection of 1 MB/s', (server) => {
  const own = useRedis(server)

  describe.each(forms)('$name', (form) => {
    test.each([
      ['many values', 12, 500_000],
      ['a large value', 1, form.large],
    ] as const)('with %s is listed at the first attempt, and so it catches up', async (_what, values, bytes) => {
      const name = `slow-${++names}`
      const client = own.redis.client()
      const write = async (n: number): Promise<void> => {
        for (let at = 0; at < values; at++) await form.write(client, name, `k${at}`, { n, pad: 'x'.repeat(bytes) })
      }
      await write(1)
      await using mirror = await Mirror.open(own.redis, (port) => form.source(userClient('ioredis 6', port), name))
      mirror.proxy.throttle(BYTES_PER_SECOND)
      mirror.informer.start()
      await mirror.until('the list to be in', () => showsAll(mirror, values, 1), 40_000)
      mirror.cut()
      await write(2)
      mirror.proxy.pass()
      mirror.proxy.throttle(BYTES_PER_SECOND)
      const errors = mirror.errors.length
      await mirror.until('the mirror to have caught up', () => showsAll(mirror, values, 2), 40_000)
      const later = mirror.errors.slice(errors).map(({ message }) => message)
      // A connect that the proxy refused before it passed connections again may be reported after it.
      expect([mirror.codes, later.filter((message) => !/connect ECONN/.test(message))]).toEqual([[], []])
      expect(mirror.informer.status.relists).toBe(0)
    })
  })
})

import { expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../src/contract/clock.js'
import { describeRedis } from '../servers/index.js'
import { context, listed } from '../support/source-calls.js'
import { userClient } from './drivers.js'
import { kinds } from './kinds.js'
import { useRedis } from './support.js'

const WRITES = 100
let names = 0

describeRedis('while changes arrive fast', (server) => {
  const own = useRedis(server)

  test.each(kinds)('a watch of $name rests between its reads', async (kind) => {
    const client = userClient('ioredis 6', own.redis.port)
    const name = `fast-${++names}`
    await kind.write(client, name, 'a', 0)
    const source = kind.source(client, name)
    const { version } = await listed(source)
    const rests: number[] = []
    // Its time stands still: so all changes arrive at once.
    const clock: Clock = {
      now: () => 0,
      sleep: (ms, signal) => {
        if (ms < 10) rests.push(ms)
        return systemClock.sleep(ms, signal)
      },
    }
    const stop = new AbortController()
    onTestFinished(() => stop.abort())
    const watch = source.watch({ ...context(stop.signal), clock, after: version, onProgressRequest: () => {} })
    let seen = 0
    let written = 0
    for await (const { events } of watch) {
      seen += events.length
      if (seen === WRITES) break
      if (seen === written) await kind.write(client, name, 'a', ++written)
    }
    expect(rests.length).toBeGreaterThan(WRITES / 4)
    expect(new Set(rests)).toEqual(new Set([2]))
  })
})

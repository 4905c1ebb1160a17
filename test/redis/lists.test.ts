import { describe, expect, test } from 'vitest'
import { type RedisChange, redisCollectionSource, redisWriter } from '../../adapters/redis/index.js'
import type { Version } from '../../src/contract/version.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { describeRedis } from '../servers/index.js'
import { listed } from '../support/source-calls.js'
import { driverNames, userClient } from './drivers.js'
import { useRedis } from './support.js'

const FIELDS = 200_000
const WRITERS = 8
const LISTS = 2
/** A history that is much shorter than what is written while a list is read. */
const RETENTION = 1_000

/** What writers did, by the entry of the history that it became. */
class Journal {
  readonly #entries: (readonly RedisChange<string>[])[] = []

  note(version: Version, changes: readonly RedisChange<string>[]): void {
    this.#entries[sequenceOf(version)] = changes
  }

  /** What there was at a version. */
  at(version: Version): Map<string, string> {
    const state = new Map<string, string>()
    for (let at = 0; at <= sequenceOf(version); at++) {
      for (const change of this.#entries[at] ?? []) {
        if ('put' in change) state.set(change.put, change.object)
        else state.delete(change.delete)
      }
    }
    return state
  }
}

function sequenceOf(version: Version): number {
  return Number(version.split('.')[2])
}

function differences(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string[] {
  return [...new Set([...a.keys(), ...b.keys()])].filter((key) => a.get(key) !== b.get(key)).slice(0, 5)
}

describeRedis('lists of a collection that is written all the time', (server) => {
  const own = useRedis(server)

  describe.each(driverNames)('%s', (driver) => {
    test(`are what it was at their versions: ${FIELDS} fields, ${WRITERS} writers`, async () => {
      const name = `busy ${driver}`
      const client = userClient(driver, own.redis.port)
      const writers = Array.from({ length: WRITERS }, () =>
        redisWriter<string>({ client, collection: name, codec: 'string', retention: RETENTION }),
      )
      const journal = new Journal()
      const write = async (writer: number, changes: readonly RedisChange<string>[]): Promise<void> => {
        const version = await writers[writer]?.apply(changes)
        if (version !== undefined) journal.note(version, changes)
      }
      for (let from = 0; from < FIELDS; from += 2_000)
        await write(
          0,
          Array.from({ length: 2_000 }, (_, n) => ({ put: `k${from + n}`, object: 'first' })),
        )
      let [isOver, written] = [false, 0]
      const busy = writers.map(async (_, writer) => {
        const random = new SeededRandom(writer)
        while (!isOver) {
          const changes = Array.from({ length: 1 + random.below(4) }, (): RedisChange<string> => {
            const key = `k${random.below(FIELDS * 1.1)}`
            return random.below(3) === 0 ? { delete: key } : { put: key, object: `${writer} ${written}` }
          })
          await write(writer, changes)
          written++
        }
      })
      const source = redisCollectionSource<string>({ client, collection: name, codec: 'string' })
      const lists: Awaited<ReturnType<typeof listed<string>>>[] = []
      const before = written
      while (lists.length < LISTS) lists.push(await listed(source))
      const meanwhile = written - before
      isOver = true
      await Promise.all(busy)
      expect(meanwhile).toBeGreaterThan(LISTS * 100)
      for (const { objects, version } of lists) expect(differences(objects, journal.at(version))).toEqual([])
      await Promise.all(writers.map((writer) => writer.close()))
      await own.redis.client().flushall()
    })
  })
})

import { describe, expect, test } from 'vitest'
import { type RedisStreamOptions, redisStream } from '../../adapters/redis/index.js'
import type { Version } from '../../src/version.js'
import { describeRedis } from '../servers/index.js'
import { userClient } from './drivers.js'
import { context, listed } from './follow.js'
import { useRedis } from './support.js'

/** What happens to a stream whose entries 100-0, 200-0 and 300-0 were read; each is what only one check can find. */
interface Story {
  readonly what: string
  /** The commands, without the stream's key: `['XADD', '400-0']` adds one that says what its id is. */
  readonly happens: readonly (readonly [command: string, ...args: string[]])[]
  /** What the first is gone before, so that nobody knows which it was. */
  readonly isFolded?: boolean
  readonly code?: 'EPOCH_CHANGED' | 'VERSION_EXPIRED'
  readonly says?: string
  /** Ids of the entries that are told, where nothing is wrong. */
  readonly tells?: readonly string[]
}

const stories: readonly Story[] = [
  {
    what: 'made anew, and only its first entry is another',
    happens: [['DEL'], ['XADD', '150-0'], ['XADD', '200-0'], ['XADD', '300-0']],
    code: 'EPOCH_CHANGED',
    says: 'it begins with the entry 150-0, and began with 100-0',
  },
  {
    what: 'made anew with as many entries that all were trimmed, and ends before us',
    happens: [['DEL'], ['XADD', '1-0'], ['XADD', '2-0'], ['XADD', '3-0'], ['XTRIM', 'MAXLEN', '0']],
    code: 'EPOCH_CHANGED',
    says: 'it ends at 3-0, and was read up to 300-0',
  },
  {
    what: 'made anew with fewer entries, the last of which is the same',
    happens: [['DEL'], ['XADD', '300-0']],
    isFolded: true,
    code: 'EPOCH_CHANGED',
    says: '1 entries were added to it, and 3 were read',
  },
  {
    what: 'made anew from the same first entry with as many, without the one that was read last',
    happens: [['DEL'], ['XADD', '100-0'], ['XADD', '200-0'], ['XADD', '250-0'], ['XADD', '400-0']],
    code: 'EPOCH_CHANGED',
    says: 'it has no entry 300-0, and never had',
  },
  {
    what: 'made anew with fewer entries before the one that was read last',
    happens: [['DEL'], ['XADD', '100-0'], ['XADD', '300-0'], ['XADD', '400-0']],
    code: 'EPOCH_CHANGED',
    says: '0 entries were added after 300-0, and 1 are there',
  },
  {
    what: 'made anew with the same ids, and the one that was read last says something else',
    happens: [['DEL'], ['XADD', '100-0'], ['XADD', '200-0'], ['XADD', '300-0', 'more', 'of it']],
    code: 'EPOCH_CHANGED',
    says: 'the entry 300-0 is another',
  },
  {
    what: 'trimmed past us',
    happens: [
      ['XADD', '400-0'],
      ['XADD', '500-0'],
      ['XTRIM', 'MAXLEN', '1'],
    ],
    code: 'VERSION_EXPIRED',
    says: '4 entries are gone, and 3 were read',
  },
  {
    what: 'robbed of an entry that was not read',
    happens: [
      ['XADD', '400-0'],
      ['XADD', '500-0'],
      ['XDEL', '400-0'],
    ],
    code: 'VERSION_EXPIRED',
    says: '2 entries were added after 300-0, and 1 of them are left',
  },
  {
    what: 'robbed of the entry that was read last',
    happens: [
      ['XDEL', '300-0'],
      ['XADD', '400-0'],
    ],
    tells: ['400-0'],
  },
  {
    what: 'robbed of every entry that was read',
    happens: [
      ['XDEL', '100-0', '200-0', '300-0'],
      ['XADD', '400-0'],
    ],
    tells: ['400-0'],
  },
]

describeRedis('a stream that others write is held against what the server counts', (server) => {
  const own = useRedis(server)
  let streams = 0
  const make = (options: Partial<RedisStreamOptions<string>> = {}, stream = `checked-${++streams}`) => {
    const source = redisStream<string>({
      client: userClient('ioredis 6', own.redis.port),
      stream,
      decode: (fields) => ({ key: fields.get('is') ?? '', object: '' }),
      ...options,
    })
    const run = async ([command, ...args]: Story['happens'][number]): Promise<void> => {
      const fields = command === 'XADD' ? ['is', args[0] ?? ''] : []
      await own.redis.client().call(command, stream, ...args, ...fields)
    }
    return { source, run }
  }
  const fill = async (run: (command: Story['happens'][number]) => Promise<void>): Promise<void> => {
    for (const id of ['100-0', '200-0', '300-0']) await run(['XADD', id])
  }
  /** What a watch tells first, and where it is then. */
  const told = async (source: ReturnType<typeof make>['source'], after: Version) => {
    for await (const { events, version } of source.watch({ ...context(), after, onNudge: () => {} }))
      return { keys: events.map((event) => ('key' in event ? event.key : undefined)), version }
    throw new Error('it has ended')
  }

  test.each(stories)('one that was $what', async ({ happens, isFolded = false, code, says = '', tells = [] }) => {
    const { source, run } = make(isFolded ? { whenTrimmed: 'fold' } : {})
    await fill(run)
    if (isFolded) await run(['XTRIM', 'MAXLEN', '2'])
    const { version } = await told(source, (await listed(source)).version)
    for (const command of happens) await run(command)
    if (code === undefined) expect((await told(source, version)).keys).toEqual(tells)
    else await expect(told(source, version)).rejects.toMatchObject({ code, message: expect.stringContaining(says) })
  })

  test('one whose list ends before what was watched is another; whoever was told lists it', async () => {
    const { source, run } = make()
    await fill(run)
    await told(source, (await listed(source)).version)
    await run(['DEL'])
    await run(['XADD', '100-0'])
    await expect(listed(source)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    expect((await listed(source)).objects.size).toBe(1)
  })

  describe('and with a snapshot of it', () => {
    const from = (after: string, options: Partial<RedisStreamOptions<string>> = {}) =>
      make({ snapshot: async () => ({ entries: [], after }), ...options })

    test('that is of its end, where all was trimmed, nothing is missing', async () => {
      const { source, run } = from('300-0')
      await fill(run)
      await run(['XTRIM', 'MAXLEN', '0'])
      expect((await listed(source)).objects.size).toBe(0)
    })

    test('that is of between two entries, nothing is missing where the former is there', async () => {
      const { source, run } = from('250-0')
      await fill(run)
      await run(['XTRIM', 'MAXLEN', '2'])
      expect([...(await listed(source)).objects.keys()]).toEqual(['300-0'])
    })

    test('that is of between two entries, the latter of which was deleted, it is missing', async () => {
      const { source, run } = from('150-0')
      await fill(run)
      await run(['XDEL', '200-0'])
      await expect(listed(source)).rejects.toMatchObject({
        code: 'VERSION_EXPIRED',
        message: expect.stringContaining('an entry after 150-0 was deleted (200-0)'),
      })
    })

    test('that is of between two entries, the latter of which was deleted, it is no concern where the newest stay', async () => {
      const { source, run } = from('150-0', { whenTrimmed: 'fold' })
      await fill(run)
      await run(['XDEL', '200-0'])
      expect([...(await listed(source)).objects.keys()]).toEqual(['300-0'])
    })

    test('that is older than what was trimmed, it is refused', async () => {
      const { source, run } = from('150-0')
      await fill(run)
      await run(['XTRIM', 'MAXLEN', '1'])
      await expect(listed(source)).rejects.toMatchObject({
        code: 'VERSION_EXPIRED',
        message: expect.stringContaining('the stream begins at 300-0'),
      })
    })

    test('that is of later than its end, it is another stream', async () => {
      const { source, run } = from('900-0')
      await fill(run)
      await expect(listed(source)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    })
  })
})

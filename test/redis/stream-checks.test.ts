import { describe, expect, test } from 'vitest'
import { type RedisStreamOptions, redisStream } from '../../adapters/redis/index.js'
import type { Version } from '../../src/contract/version.js'
import { describeRedis } from '../servers/index.js'
import { steered, userClient } from './drivers.js'
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
    says: 'it never had an entry 300-0',
  },
  {
    what: 'made anew with more entries, some of which are gone, without the one that was read last',
    happens: [
      ['DEL'],
      ['XADD', '100-0'],
      ['XADD', '200-0'],
      ['XADD', '250-0'],
      ['XADD', '400-0'],
      ['XTRIM', 'MAXLEN', '3'],
    ],
    code: 'EPOCH_CHANGED',
    says: 'it never had an entry 300-0',
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
    says: 'the entry 300-0 has changed',
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

/** How a stream is made anew while its snapshot, of the entry `after`, is on the way; each is what only one check can find. */
const rewrites: readonly (Required<Pick<Story, 'what' | 'happens' | 'says'>> & {
  readonly isTrimmed?: boolean
  readonly after?: string
})[] = [
  {
    what: 'with later ids',
    happens: [
      ['XADD', '400-0'],
      ['XADD', '500-0'],
    ],
    says: 'it never had an entry 300-0',
  },
  {
    what: 'with the same ids, and the newest entry says something else',
    happens: [
      ['XADD', '100-0'],
      ['XADD', '200-0'],
      ['XADD', '300-0', 'more', 'of it'],
    ],
    says: 'the entry 300-0 has changed',
  },
  {
    what: 'with one more before the same ones',
    happens: [
      ['XADD', '50-0'],
      ['XADD', '100-0'],
      ['XADD', '200-0'],
      ['XADD', '300-0'],
    ],
    says: 'it begins with the entry 50-0, and began with 100-0',
  },
  {
    what: 'with the same id, and fewer entries',
    isTrimmed: true,
    happens: [['XADD', '300-0']],
    says: '1 entries were added to it, and 3 were read',
  },
  {
    what: 'with more entries, fewer of which are gone',
    after: '400-0',
    happens: [
      ['XADD', '350-0'],
      ['XADD', '400-0'],
      ['XADD', '500-0'],
      ['XADD', '600-0'],
      ['XTRIM', 'MAXLEN', '3'],
    ],
    says: 'it begins with 400-0, and only 1 of the 3 entries up to 300-0 are gone',
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
    for await (const { events, version } of source.watch({ ...context(), after, onProgressRequest: () => {} }))
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

  test('one whose list ends before what was shown is another; whoever has shown nothing lists it', async () => {
    const { source, run } = make()
    await fill(run)
    const { version: shown } = await listed(source)
    await run(['DEL'])
    await run(['XADD', '100-0'])
    for (let informer = 0; informer < 2; informer++)
      await expect(listed(source, 1_000, { floor: shown })).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
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

    test('that is of an entry which was deleted since, nothing is missing where the one before it is there', async () => {
      const { source, run } = from('200-0')
      await fill(run)
      await run(['XDEL', '200-0'])
      expect([...(await listed(source)).objects.keys()]).toEqual(['300-0'])
    })

    test('after which an entry was deleted, it is missing', async () => {
      const { source, run } = from('100-0')
      await fill(run)
      await run(['XDEL', '200-0'])
      await expect(listed(source)).rejects.toMatchObject({
        code: 'VERSION_EXPIRED',
        message: expect.stringContaining('an entry after 100-0 was deleted (200-0)'),
      })
    })

    test('after which an entry was deleted, it is no concern where the newest stay', async () => {
      const { source, run } = from('100-0', { whenTrimmed: 'fold' })
      await fill(run)
      await run(['XDEL', '200-0'])
      expect([...(await listed(source)).objects.keys()]).toEqual(['300-0'])
    })

    test('that is older than what was trimmed, it is refused', async () => {
      const { source, run } = from('100-0')
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

    test('that is of an entry which it never had, it is another stream', async () => {
      const { source, run } = from('50-0')
      await fill(run)
      await expect(listed(source)).rejects.toMatchObject({
        code: 'EPOCH_CHANGED',
        message: expect.stringContaining('it never had an entry 50-0'),
      })
    })

    const versionOfOne = async (): Promise<Version> => {
      const { source, run } = make()
      await fill(run)
      return (await listed(source)).version
    }

    test('that names a version, it is another stream where that entry is another', async () => {
      const { source, run } = from(await versionOfOne())
      for (const id of ['100-0', '200-0']) await run(['XADD', id])
      await run(['XADD', '300-0', 'more', 'of it'])
      await expect(listed(source)).rejects.toMatchObject({
        code: 'EPOCH_CHANGED',
        message: expect.stringContaining('the entry 300-0 has changed'),
      })
    })

    test('that names a version, what came after it is folded into it', async () => {
      const { source, run } = from(await versionOfOne())
      await fill(run)
      await run(['XADD', '400-0'])
      expect([...(await listed(source)).objects.keys()]).toEqual(['400-0'])
    })

    test.each(rewrites)(
      'of a stream that is made anew as it comes, $what, it is another',
      async ({ isTrimmed, after = '300-0', happens, says }) => {
        const { source, run } = make({
          snapshot: async () => {
            for (const command of [['DEL'] as const, ...happens]) await run(command)
            return { entries: [['ghost', '']], after }
          },
        })
        await fill(run)
        if (isTrimmed === true) await run(['XTRIM', 'MAXLEN', '0'])
        await expect(listed(source)).rejects.toMatchObject({
          code: 'EPOCH_CHANGED',
          message: expect.stringContaining(says),
        })
      },
    )

    test('that was trimmed and written on as it came, nothing is missing', async () => {
      const { source, run } = make({
        snapshot: async () => {
          await run(['XADD', '400-0'])
          await run(['XTRIM', 'MAXLEN', '1'])
          await run(['XADD', '500-0'])
          return { entries: [], after: '400-0' }
        },
      })
      await fill(run)
      expect([...(await listed(source)).objects.keys()]).toEqual(['500-0'])
    })
  })

  test('one that is made anew while it is folded, page by page, is not folded into what there was', async () => {
    const stream = `checked-${++streams}`
    const { run } = make({}, stream)
    await fill(run)
    await run(['XTRIM', 'MAXLEN', '2'])
    let looks = 0
    const happen = async (): Promise<void> => {
      looks++
      // The list has begun; it has given a page.
      if (looks === 2) for (const id of ['400-0', '500-0']) await run(['XADD', id])
      if (looks !== 3) return
      await run(['DEL'])
      for (const id of ['600-0', '700-0', '800-0', '900-0']) await run(['XADD', id])
      await run(['XTRIM', 'MAXLEN', '1'])
    }
    const client = steered([own.redis.port], happen)
    const { source } = make({ client, whenTrimmed: 'fold' }, stream)
    await expect(listed(source, 1)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  })
})

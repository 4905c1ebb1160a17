import { describe, expect, test } from 'vitest'
import { type RedisStreamSourceOptions, redisStreamSource } from '../../adapters/redis/index.js'
import type { Version } from '../../src/contract/version.js'
import { describeRedis } from '../servers/index.js'
import { failure } from '../support/failure.js'
import { context, listed } from '../support/source-calls.js'
import { steered, userClient } from './drivers.js'
import { useRedis } from './support.js'

/** What happens to a stream whose entries 100-0, 200-0 and 300-0 were read; each is what only one check can find. */
interface Story {
  /** The commands, without the stream's key: `XADD 400-0` adds one that says what its id is. */
  readonly happens: string
  /** Trimmed before it is read, so that the first entry of the history is unknown. */
  readonly isFolded?: boolean
  /** Default: `EPOCH_CHANGED`. */
  readonly code?: 'VERSION_EXPIRED'
  readonly says?: string
  /** The ids of the delivered entries, if no error is expected. */
  readonly tells?: readonly string[]
}

const stories: Readonly<Record<string, Story>> = {
  'recreated with another first entry': {
    happens: 'DEL; XADD 150-0; XADD 200-0; XADD 300-0',
    says: 'it begins with the entry 150-0, and began with 100-0',
  },
  'recreated with as many entries that were all trimmed, and ends before the mirror': {
    happens: 'DEL; XADD 1-0; XADD 2-0; XADD 3-0; XTRIM MAXLEN 0',
    says: 'it ends at 3-0, and was read up to 300-0',
  },
  'recreated with fewer entries and the same last one': {
    happens: 'DEL; XADD 300-0',
    isFolded: true,
    says: '1 entries were added to it, and 3 were read',
  },
  'recreated with the same first entry and as many entries, without the one that was read last': {
    happens: 'DEL; XADD 100-0; XADD 200-0; XADD 250-0; XADD 400-0',
    says: 'it never had an entry 300-0',
  },
  'recreated with more entries, some of which were deleted, without the one that was read last': {
    happens: 'DEL; XADD 100-0; XADD 200-0; XADD 250-0; XADD 400-0; XTRIM MAXLEN 3',
    says: 'it never had an entry 300-0',
  },
  'recreated with fewer entries before the one that was read last': {
    happens: 'DEL; XADD 100-0; XADD 300-0; XADD 400-0',
    says: '0 entries were added after 300-0, and 1 are there',
  },
  'recreated with the same ids, and another content of the one that was read last': {
    happens: 'DEL; XADD 100-0; XADD 200-0; XADD 300-0 more text',
    says: 'the entry 300-0 has changed',
  },
  'trimmed beyond the position of the mirror': {
    happens: 'XADD 400-0; XADD 500-0; XTRIM MAXLEN 1',
    code: 'VERSION_EXPIRED',
    says: '4 entries are gone, and 3 were read',
  },
  'trimmed of an entry that was not read, with XDEL': {
    happens: 'XADD 400-0; XADD 500-0; XDEL 400-0',
    code: 'VERSION_EXPIRED',
    says: '2 entries were added after 300-0, and 1 of them are left',
  },
  'trimmed of the entry that was read last, with XDEL': {
    happens: 'XDEL 300-0; XADD 400-0',
    tells: ['400-0'],
  },
  'trimmed of all entries that were read, with XDEL': {
    happens: 'XDEL 100-0 200-0 300-0; XADD 400-0',
    tells: ['400-0'],
  },
}

type Rewrite = Required<Pick<Story, 'happens' | 'says'>> & { readonly isTrimmed?: boolean; readonly after?: string }

/** The ways to recreate a stream while its snapshot, of the entry `after`, is made. Each is found by a single check. */
const rewrites: Readonly<Record<string, Rewrite>> = {
  'with later ids': {
    happens: 'XADD 400-0; XADD 500-0',
    says: 'it never had an entry 300-0',
  },
  'with the same ids, and another content of the newest entry': {
    happens: 'XADD 100-0; XADD 200-0; XADD 300-0 more text',
    says: 'the entry 300-0 has changed',
  },
  'with one more before the same ones': {
    happens: 'XADD 50-0; XADD 100-0; XADD 200-0; XADD 300-0',
    says: 'it begins with the entry 50-0, and began with 100-0',
  },
  'with the same id, and fewer entries': {
    isTrimmed: true,
    happens: 'XADD 300-0',
    says: '1 entries were added to it, and 3 were read',
  },
  'with more entries, fewer of which are gone': {
    after: '400-0',
    happens: 'XADD 350-0; XADD 400-0; XADD 500-0; XADD 600-0; XTRIM MAXLEN 3',
    says: 'it begins with 400-0, and only 1 of the 3 entries up to 300-0 are gone',
  },
}

describeRedis('a stream is verified with the counters of the server', (server) => {
  const own = useRedis(server)
  let streams = 0
  const make = (options: Partial<RedisStreamSourceOptions<string>> = {}, stream = `checked-${++streams}`) => {
    const source = redisStreamSource<string>({
      client: userClient('ioredis 6', own.redis.port),
      stream,
      decode: (fields) => ({ key: fields.get('is') ?? '', object: '' }),
      ...options,
    })
    const run = async (commands: string): Promise<void> => {
      for (const each of commands.split('; ')) {
        const [command = '', ...args] = each.split(' ')
        const fields = command === 'XADD' ? ['is', args[0] ?? ''] : []
        await own.redis.client().call(command, stream, ...args, ...fields)
      }
    }
    return { source, run }
  }
  const FILL = 'XADD 100-0; XADD 200-0; XADD 300-0'
  /** The first entries of a watch, and its position after them. */
  const told = async (source: ReturnType<typeof make>['source'], after: Version) => {
    for await (const { events, version } of source.watch({ ...context(), after, onProgressRequest: () => {} }))
      return { keys: events.map((event) => ('key' in event ? event.key : undefined)), version }
    throw new Error('it has ended')
  }

  test.each(Object.entries(stories))('one that was %s', async (_what, story) => {
    const { happens, isFolded = false, code = 'EPOCH_CHANGED', says = '', tells } = story
    const { source, run } = make(isFolded ? { whenTrimmed: 'fold' } : {})
    await run(FILL)
    if (isFolded) await run('XTRIM MAXLEN 2')
    const { version } = await told(source, (await listed(source)).version)
    await run(happens)
    if (tells !== undefined) expect((await told(source, version)).keys).toEqual(tells)
    else await expect(told(source, version)).rejects.toMatchObject({ code, message: expect.stringContaining(says) })
  })

  test('a stream that ends before the floor of a list is another one; a list without a floor accepts it', async () => {
    const { source, run } = make()
    await run(FILL)
    const { version: shown } = await listed(source)
    await run('DEL; XADD 100-0')
    for (let informer = 0; informer < 2; informer++)
      await expect(listed(source, 1_000, { floor: shown })).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
    expect((await listed(source)).objects.size).toBe(1)
  })

  describe('with a snapshot', () => {
    const from = (after: string, options: Partial<RedisStreamSourceOptions<string>> = {}) =>
      make({ snapshot: async () => ({ entries: [], after }), ...options })

    const snapshots: readonly (readonly [
      what: string,
      after: string,
      happens: string,
      outcome: readonly string[] | { readonly code: string; readonly message?: unknown },
      whenTrimmed?: 'fold',
    ])[] = [
      ['of its end, after all entries were trimmed, nothing is missing', '300-0', 'XTRIM MAXLEN 0', []],
      [
        'of an entry that was deleted since, nothing is missing if the previous one exists',
        '200-0',
        'XDEL 200-0',
        ['300-0'],
      ],
      [
        'after which an entry was deleted, that entry is missing',
        '100-0',
        'XDEL 200-0',
        failure('VERSION_EXPIRED', 'an entry after 100-0 was deleted (200-0)'),
      ],
      [
        'after which an entry was deleted, the list succeeds with whenTrimmed: fold',
        '100-0',
        'XDEL 200-0',
        ['300-0'],
        'fold',
      ],
      [
        'that is older than the oldest entry, the list fails',
        '100-0',
        'XTRIM MAXLEN 1',
        failure('VERSION_EXPIRED', 'the stream begins at 300-0'),
      ],
      ['that is later than its end, it is another stream', '900-0', 'XADD 400-0', { code: 'EPOCH_CHANGED' }],
      [
        'of an entry that it never had, it is another stream',
        '50-0',
        'XADD 400-0',
        failure('EPOCH_CHANGED', 'it never had an entry 50-0'),
      ],
    ]
    test.for(snapshots)('%s', async ([, after, happens, outcome, whenTrimmed]) => {
      const { source, run } = from(after, whenTrimmed === undefined ? {} : { whenTrimmed })
      await run(`${FILL}; ${happens}`)
      if ('code' in outcome) await expect(listed(source)).rejects.toMatchObject(outcome)
      else expect([...(await listed(source)).objects.keys()]).toEqual(outcome)
    })

    const versionOfOne = async (): Promise<Version> => {
      const { source, run } = make()
      await run(FILL)
      return (await listed(source)).version
    }

    test('with a version whose entry has changed, it is another stream', async () => {
      const { source, run } = from(await versionOfOne())
      await run('XADD 100-0; XADD 200-0; XADD 300-0 more text')
      await expect(listed(source)).rejects.toMatchObject(failure('EPOCH_CHANGED', 'the entry 300-0 has changed'))
    })

    test('with a version, later entries are applied to the snapshot', async () => {
      const { source, run } = from(await versionOfOne())
      await run(FILL)
      await run('XADD 400-0')
      expect([...(await listed(source)).objects.keys()]).toEqual(['400-0'])
    })

    test.each(Object.entries(rewrites))(
      'of a stream that is recreated meanwhile, %s, it is another stream',
      async (_what, { isTrimmed, after = '300-0', happens, says }) => {
        const { source, run } = make({
          snapshot: async () => {
            await run(`DEL; ${happens}`)
            return { entries: [['ghost', '']], after }
          },
        })
        await run(FILL)
        if (isTrimmed === true) await run('XTRIM MAXLEN 0')
        await expect(listed(source)).rejects.toMatchObject(failure('EPOCH_CHANGED', says))
      },
    )

    test('of a stream that is trimmed and extended meanwhile, nothing is missing', async () => {
      const { source, run } = make({
        snapshot: async () => {
          await run('XADD 400-0')
          await run('XTRIM MAXLEN 1')
          await run('XADD 500-0')
          return { entries: [], after: '400-0' }
        },
      })
      await run(FILL)
      expect([...(await listed(source)).objects.keys()]).toEqual(['500-0'])
    })
  })

  test('a stream that is recreated during a list with fold is not mixed with the previous one', async () => {
    const stream = `checked-${++streams}`
    const { run } = make({}, stream)
    await run(FILL)
    await run('XTRIM MAXLEN 2')
    let looks = 0
    const happen = async (): Promise<void> => {
      looks++
      // The list has begun; it has given a page.
      if (looks === 2) await run('XADD 400-0; XADD 500-0')
      if (looks !== 3) return
      await run('DEL; XADD 600-0; XADD 700-0; XADD 800-0; XADD 900-0; XTRIM MAXLEN 1')
    }
    const client = steered([own.redis.port], happen)
    const { source } = make({ client, whenTrimmed: 'fold' }, stream)
    await expect(listed(source, 1)).rejects.toMatchObject({ code: 'EPOCH_CHANGED' })
  })
})

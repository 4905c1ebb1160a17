import { afterEach, expect, test, vi } from 'vitest'
import type * as CollectionLog from '../../adapters/redis/collection/change-log.js'
import { describeServer, type FoundServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { Stage } from './stage.js'

/** Which check of the adapter is left out. */
const left = vi.hoisted((): { out: 'none' | 'sequence' | 'chain' | 'head' | 'trimmed' } => ({ out: 'none' }))

vi.mock('../../adapters/redis/collection/change-log.js', async (original) => {
  const real = await original<typeof CollectionLog>()
  const advance: typeof real.advance = (at, entry) => {
    if ('absentAt' in at) return real.advance(at, entry)
    if (left.out === 'chain') return real.advance({ ...at, chain: entry.previous }, entry)
    if (left.out === 'sequence') return real.advance({ ...at, sequence: entry.position.sequence - 1 }, entry)
    return real.advance(at, entry)
  }
  const assertSameHistory: typeof real.assertSameHistory = (at, meta) =>
    left.out === 'head' ? undefined : real.assertSameHistory(at, meta)
  const assertNotTrimmed: typeof real.assertNotTrimmed = (at, meta, entries) =>
    left.out === 'trimmed' ? undefined : real.assertNotTrimmed(at, meta, entries)
  return { ...real, advance, assertSameHistory, assertNotTrimmed }
})

afterEach(() => {
  left.out = 'none'
})

/** The time limit of a mirror that is never right again, in milliseconds. */
const PATIENCE_MS = 3_000
/** The mirror differs from the server. */
const WRONG = /\d+ keys differ/
/** The history counts as another one, because the chain is broken if entries are missing. */
const MISTAKEN = /to deeply equal \[ 'VERSION_EXPIRED' \]/

interface Story {
  readonly what: string
  readonly code: string
  happen(stage: Stage): Promise<void>
}

const stories: Readonly<Record<Exclude<typeof left.out, 'none'>, Story>> = {
  trimmed: {
    what: 'all entries written meanwhile were trimmed',
    code: 'VERSION_EXPIRED',
    async happen(stage) {
      await stage.put(['k1', undefined])
      await stage.redis.client().xtrim(stage.key('s'), 'MAXLEN', 0)
    },
  },
  sequence: {
    what: 'a part of the entries written meanwhile was trimmed',
    code: 'VERSION_EXPIRED',
    async happen(stage) {
      await stage.put(['k1', undefined])
      await stage.put(['k2', 1])
      await stage.redis.client().xtrim(stage.key('s'), 'MAXLEN', 1)
    },
  },
  chain: {
    what: 'a snapshot was restored, and more was written than had been lost',
    code: 'EPOCH_CHANGED',
    async happen(stage) {
      await stage.redis.kill()
      await stage.redis.start()
      for (let n = 0; n < 5; n++) await stage.put(['k2', n])
    },
  },
  head: {
    what: 'a snapshot was restored, and as much was written as had been lost',
    code: 'EPOCH_CHANGED',
    async happen(stage) {
      await stage.redis.kill()
      await stage.redis.start()
      await stage.put(['k2', 7])
    },
  },
}

/** Runs the scenario on a mirror that was right, and expects it to be right again, for the right reason. */
async function play(server: FoundServer, { code, happen }: Story): Promise<void> {
  await using redis = await RedisServer.start({ server })
  await using stage = await Stage.open({ redis })
  await stage.fill(20)
  await stage.live()
  await redis.client().save()
  await stage.informer.waitFor(await stage.put(['lost', 1]), { timeoutMs: 60_000 })
  stage.proxy.reset()
  stage.proxy.refuse()
  await happen(stage)
  stage.proxy.pass()
  await stage.healed(PATIENCE_MS)
  expect(stage.codes.filter((each) => each !== 'UNAVAILABLE')).toEqual([code])
}

describeServer('redis 7.0', 'each check of a history is needed', (server) => {
  for (const check of ['trimmed', 'sequence', 'chain', 'head'] as const) {
    const story = stories[check]
    test(`the mirror is right again if ${story.what}`, () => play(server, story))

    test(`without the check of the ${check} the mirror is not right again if ${story.what}`, async () => {
      left.out = check
      await expect(play(server, story)).rejects.toThrow(check === 'sequence' ? MISTAKEN : WRONG)
    })
  }
})

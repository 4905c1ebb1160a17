import { expect, test } from 'vitest'
import { describeServer, type FoundServer } from '../servers/index.js'
import { RedisServer } from '../servers/redis.js'
import { Stage } from './stage.js'

/** The time limit of a mirror that is never right again, in milliseconds. */
const PATIENCE_MS = 3_000

interface Story {
  readonly what: string
  readonly code: string
  happen(stage: Stage): Promise<void>
}

const stories: readonly Story[] = [
  {
    what: 'all entries written meanwhile were trimmed',
    code: 'VERSION_EXPIRED',
    async happen(stage) {
      await stage.put(['k1', undefined])
      await stage.redis.client().xtrim(stage.key('s'), 'MAXLEN', 0)
    },
  },
  {
    what: 'a part of the entries written meanwhile was trimmed',
    code: 'VERSION_EXPIRED',
    async happen(stage) {
      await stage.put(['k1', undefined])
      await stage.put(['k2', 1])
      await stage.redis.client().xtrim(stage.key('s'), 'MAXLEN', 1)
    },
  },
  {
    what: 'a snapshot was restored, and more was written than had been lost',
    code: 'EPOCH_CHANGED',
    async happen(stage) {
      await stage.redis.kill()
      await stage.redis.start()
      for (let n = 0; n < 5; n++) await stage.put(['k2', n])
    },
  },
  {
    what: 'a snapshot was restored, and as much was written as had been lost',
    code: 'EPOCH_CHANGED',
    async happen(stage) {
      await stage.redis.kill()
      await stage.redis.start()
      await stage.put(['k2', 7])
    },
  },
]

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
  for (const story of stories) test(`the mirror is right again if ${story.what}`, () => play(server, story))
})

import { describe, expect, test } from 'vitest'
import { isAny } from './fake.js'
import { Mirror } from './mirror.js'

/** The first periodic audit is not observed. */
const RARELY = { periodMs: 24 * 3_600_000 }

/** Whether the objects were read again, although no list was due. */
function isAudited({ fake, relists }: Mirror): boolean {
  return relists === 0 && fake.lists.length > 1
}

/** The server does not answer for this time, in milliseconds. */
async function down(mirror: Mirror, ms: number, restore?: () => void): Promise<void> {
  await mirror.live()
  const over = mirror.fake.rule(isAny, (exchange) => exchange.reset())
  for (const watch of mirror.fake.collection.watching) watch.reset()
  await mirror.until('it to be noticed', () => mirror.errors.length > 0)
  await mirror.pass(ms)
  restore?.()
  over()
  mirror.fake.collection.put('k1', 'after')
  if (restore === undefined) await mirror.healed()
}

describe('a server that was unreachable', () => {
  test('[K15] for long enough to be restored is audited soon after it is back', () =>
    Mirror.with({ fill: 3, audit: RARELY }, async (mirror) => {
      await down(mirror, 60_000)
      await mirror.untilPassing('the audit', () => isAudited(mirror))
    }))

  test('[K15] and has other content at the same version is read again', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3), audit: RARELY }, async (mirror) => {
      await down(mirror, 60_000, () => mirror.fake.collection.replace('k0', 'restored'))
      await mirror.untilPassing('the other content', () => mirror.contents.includes('k0={"n":"restored"}'))
      expect(mirror.relists).toBe(1)
    }))

  test('for a moment, after a long silence, is not audited', () =>
    Mirror.live({ fill: 3, audit: RARELY }, async (mirror) => {
      await mirror.pass(60_000)
      mirror.fake.collection.watching[0]?.reset()
      await mirror.until('it to be noticed', () => mirror.errors.length > 0)
      await mirror.follows('k1', 'after')
      await mirror.pass(30_000)
      expect(isAudited(mirror)).toBe(false)
    }))

  test('[K15] while the machine slept, whose clock stood still meanwhile, is audited too', () =>
    Mirror.live({ fill: 3, audit: RARELY }, async (mirror) => {
      let sleptMs = 0
      Object.assign(mirror.clock, { wallNow: () => mirror.clock.now() + sleptMs })
      await mirror.pass(1_000)
      sleptMs = 8 * 3_600_000
      await down(mirror, 1_000)
      await mirror.untilPassing('the audit', () => isAudited(mirror))
    }))
})

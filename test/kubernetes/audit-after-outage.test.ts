import { describe, expect, test } from 'vitest'
import { isAny } from './fake.js'
import { Mirror } from './mirror.js'

/** The first periodic audit is not observed. */
const RARELY = { periodMs: 24 * 3_600_000 }

/** Whether keys and versions were read. */
function isAudited({ fake }: Mirror): boolean {
  return fake.exchanges.some(({ isList, isMetadata }) => isList && isMetadata)
}

/** The server does not answer for this time, in milliseconds. */
async function down(mirror: Mirror, ms: number): Promise<void> {
  await mirror.live()
  const over = mirror.fake.rule(isAny, (exchange) => exchange.reset())
  for (const watch of mirror.fake.collection.watching) watch.reset()
  await mirror.until('it to be noticed', () => mirror.errors.length > 0)
  await mirror.pass(ms)
  over()
  mirror.fake.collection.put('k1', 'after')
  await mirror.healed()
}

describe('a server that was unreachable', () => {
  test('[K15] for long enough to be restored is audited soon after it is back', () =>
    Mirror.with({ fill: 3, audit: RARELY }, async (mirror) => {
      await down(mirror, 60_000)
      await mirror.untilPassing('the audit', () => isAudited(mirror))
    }))

  test('for as long, though the mirror noticed it late, is audited too', () =>
    Mirror.live({ fill: 3, audit: RARELY }, async (mirror) => {
      const { fake } = mirror
      fake.collection.forget(fake.collection.watching[0])
      const over = fake.rule(isAny, () => {})
      await mirror.untilPassing('it to be noticed', () => mirror.errors.length > 0)
      over()
      fake.collection.put('k1', 'after')
      await mirror.healed()
      await mirror.untilPassing('the audit', () => isAudited(mirror))
    }))

  test('for a moment, after a long silence, is not audited', () =>
    Mirror.live({ fill: 3, audit: RARELY }, async (mirror) => {
      await mirror.pass(60_000)
      mirror.fake.collection.watching[0]?.reset()
      await mirror.until('it to be noticed', () => mirror.errors.length > 0)
      mirror.fake.collection.put('k1', 'after')
      await mirror.healed()
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

  test('for a moment is not audited, since that is common', () =>
    Mirror.with({ fill: 3, audit: RARELY }, async (mirror) => {
      await down(mirror, 2_000)
      await mirror.pass(30_000)
      expect(isAudited(mirror)).toBe(false)
    }))
})

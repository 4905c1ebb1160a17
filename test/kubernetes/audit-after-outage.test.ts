import { describe, expect, test } from 'vitest'
import { isAny } from './fake.js'
import { Mirror } from './mirror.js'

/** Nobody sees the first audit that comes by itself. */
const RARELY = { periodMs: 24 * 3_600_000 }

/** Whether keys and versions were read. */
function isAudited({ fake }: Mirror): boolean {
  return fake.exchanges.some(({ isList, isMetadata }) => isList && isMetadata)
}

/** Nobody answers for so long. */
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

describe('a server that nobody could reach', () => {
  test('for long enough to be restored is compared with the mirror soon after it is back', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3), audit: RARELY }, async (mirror) => {
      await down(mirror, 60_000)
      await mirror.untilPassing('the audit', () => isAudited(mirror))
    }))

  test('for as long, though nobody knew for most of it, is, too', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3), audit: RARELY }, async (mirror) => {
      await mirror.live()
      const { fake } = mirror
      fake.collection.forget(fake.collection.watching[0])
      const over = fake.rule(isAny, () => {})
      await mirror.untilPassing('it to be noticed', () => mirror.errors.length > 0)
      over()
      fake.collection.put('k1', 'after')
      await mirror.healed()
      await mirror.untilPassing('the audit', () => isAudited(mirror))
    }))

  test('for a moment, after it had been quiet for long, is not', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3), audit: RARELY }, async (mirror) => {
      await mirror.live()
      await mirror.pass(60_000)
      mirror.fake.collection.watching[0]?.reset()
      await mirror.until('it to be noticed', () => mirror.errors.length > 0)
      mirror.fake.collection.put('k1', 'after')
      await mirror.healed()
      await mirror.pass(30_000)
      expect(isAudited(mirror)).toBe(false)
    }))

  test('for a moment is not, since that happens all the time', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3), audit: RARELY }, async (mirror) => {
      await down(mirror, 2_000)
      await mirror.pass(30_000)
      expect(isAudited(mirror)).toBe(false)
    }))
})

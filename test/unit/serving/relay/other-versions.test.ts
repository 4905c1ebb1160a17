import { expect, test } from 'vitest'
import type { MemoryRelayStore } from '../../../../adapters/memory/index.js'
import { clock, contentOf, context, followerOf, relayedAndStopped, relayOf, storeOf, useRelays } from './relays.js'

useRelays()

/** Writes a text into the store of a relay, as another program or another version of the relay does. */
async function overwrite(store: MemoryRelayStore, key: string, text: string): Promise<void> {
  await store.write([{ key, text }], (await store.read(key, context)).position, context)
}

test.each([
  ['that is not JSON', 'hello'],
  ['with an unknown tag of a value', '{"encoded":["t","PT1H"]}'],
  ['without an object', '{"compressed":"eJw="}'],
])(
  '[Y15] a text that this version of the relay cannot read: %s is replaced by the next relay, whose mirror has the object',
  async (_what, text) => {
    const { source, store } = await relayedAndStopped(['a', 'b'])
    const early = followerOf(store)
    await clock.advance(2_000)
    await overwrite(store, 'b', text)
    await clock.advance(2_000)
    expect(early.informer.invalid.has('b')).toBe(true)
    const next = relayOf(source, storeOf(store))
    const late = followerOf(store)
    await clock.advance(20_000)
    expect(next.relay.status.state).toBe('live')
    for (const { informer } of [next, early, late])
      expect([contentOf(informer), informer.invalid.size]).toEqual([{ a: 0, b: 0 }, 0])
    expect(next.warnings).toEqual([expect.stringContaining('it has objects that this version cannot read (1)')])
  },
)

test.each([
  ['of a later format', '{"format":2,"writer":"w","write":1,"epoch":0}', 'has format 2, and this version of listwatch'],
  ['that is not JSON', 'hello', 'is not one of a relay: another program has written it'],
  ['without its fields', '{"format":1}', 'is not one of a relay: another program has written it'],
])(
  '[Y16] a header that this version cannot read: %s is PROTOCOL for followers and relays, with the reason and the remedy',
  async (_what, text, reason) => {
    const { source, store } = await relayedAndStopped(['a', 'b'])
    await overwrite(store, '\0relay', text)
    const next = relayOf(source, storeOf(store))
    const follower = followerOf(store)
    await clock.advance(20_000)
    expect(follower.informer.status.state).toBe('failed')
    for (const { errors } of [next, follower]) {
      expect(errors[0]).toMatchObject({ code: 'PROTOCOL', message: expect.stringContaining(reason) })
      expect(errors[0]?.message).toMatch(/update|choose another name/)
    }
    expect((await store.read('\0relay', context)).text).toBe(text)
  },
)

test('[Y16] a follower continues after an upgrade of its relay was rolled back', async () => {
  const { source, store } = await relayedAndStopped(['a', 'b'])
  const follower = followerOf(store)
  await clock.advance(2_000)
  const { text = '' } = await store.read('\0relay', context)
  await overwrite(store, '\0relay', '{"format":2,"writer":"w","write":1,"epoch":0}')
  await clock.advance(60_000)
  expect(follower.informer.status.state).toBe('failed')
  expect(follower.errors.at(-1)?.message).toContain('has format 2, and this version of listwatch has format 1')
  await overwrite(store, '\0relay', text)
  const next = relayOf(source, storeOf(store))
  source.put('c', { n: 3 })
  await clock.advance(60_000)
  expect([next.relay.status.state, follower.informer.status.state]).toEqual(['live', 'live'])
  expect(follower.informer.get('c')).toEqual({ n: 3 })
})

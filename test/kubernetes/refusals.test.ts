import { describe, expect, test } from 'vitest'
import { waitUntil } from '../servers/wait-until.js'
import { isAny, isAnyList, isWatch } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

describe('a server that refuses', () => {
  for (const [code, wanted] of [
    [403, 'UNAUTHORIZED'],
    [401, 'UNAUTHORIZED'],
    [404, 'NOT_FOUND'],
  ] as const)
    test(`with ${code} makes the state failed, and is retried until it succeeds`, () =>
      Mirror.with({ fill: 2 }, async (mirror) => {
        const over = mirror.fake.rule(isAny, (exchange) => exchange.refuse({ code, message: 'no' }))
        mirror.informer.start()
        await waitUntil('it to fail', () => mirror.informer.status.state === 'failed')
        expect(mirror.errors[0]?.code).toBe(wanted)
        over()
        await mirror.healed()
      }))

  test('with 404 in plain text, as for a resource that was removed, keeps what there was until it is back', () =>
    Mirror.live({ fill: 2 }, async (mirror) => {
      const over = mirror.fake.rule(isAny, (exchange) => exchange.text('404 page not found\n', 404))
      for (const watch of mirror.fake.collection.watching) watch.end()
      await mirror.until('it to fail', () => mirror.informer.status.state === 'failed')
      expect(mirror.informer.size).toBe(2)
      over()
      await mirror.follows('k1', 'after')
    }))

  test('with 401 is retried once with new credentials, before an error is reported', async () => {
    let given = 0
    await Mirror.with({ fill: 1, configOf: (fake) => () => fake.config(`token-${++given}`) }, async (mirror) => {
      mirror.fake.rule(
        ({ token }) => token === 'token-1',
        (exchange) => exchange.refuse({ code: 401, reason: 'Unauthorized' }),
      )
      await mirror.live()
      await mirror.healed()
      expect([mirror.errors, given]).toEqual([[], 2])
    })
  })

  test('of several requests at once with 401 is retried by each, with credentials that were requested once', async () => {
    let given = 0
    await Mirror.live({ fill: 1, configOf: (fake) => () => fake.config(`token-${++given}`) }, async (mirror) => {
      const refused: Exchange[] = []
      mirror.fake.rule(
        ({ token }) => token === 'token-1',
        (exchange) => void refused.push(exchange),
      )
      const heads = [1, 2, 3].map(() => mirror.source.head(mirror.context()))
      await waitUntil('all to be on their way', () => refused.length === 3)
      for (const exchange of refused) exchange.refuse({ code: 401, reason: 'Unauthorized' })
      const { version } = mirror.fake.collection
      expect([await Promise.all(heads), given]).toEqual([[version, version, version], 2])
    })
  })

  test.each<[string, (exchange: Exchange) => void]>([
    ['Retry-After', (exchange) => exchange.refuse({ code: 429, reason: 'TooManyRequests' }, { 'retry-after': '12' })],
    ['retryAfterSeconds in the body', (exchange) => exchange.refuse({ code: 503, retryAfterSeconds: 12 })],
  ])('a list that is refused is retried after %s', (_which, refuse) =>
    Mirror.with({ fill: 1 }, async (mirror) => {
      const at: number[] = []
      mirror.fake.rule(isAnyList, (exchange) => {
        at.push(mirror.clock.now())
        if (at.length > 1) mirror.fake.collection.answer(exchange)
        else refuse(exchange)
      })
      await mirror.live()
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(12_000)
    }),
  )

  test.each<[string, (exchange: Exchange) => void]>([
    ['without the right to discovery', (exchange) => exchange.refuse({ code: 403, message: 'no' })],
    ['knows the older form only', (exchange) => exchange.json({ kind: 'APIGroupList', groups: [{ name: 'apps' }] })],
    ['answers with nonsense', (exchange) => exchange.json({ items: [null, { versions: [{ resources: [7] }] }] })],
    ['answers with a page', (exchange) => exchange.text('<html>', 200)],
  ])('for an unknown kind, and %s, is reported as a kind that no API has', (_what, answer) =>
    Mirror.with({ source: { kind: 'Unheard' } }, async (mirror) => {
      mirror.fake.rule(({ path }) => path === '/api' || path === '/apis', answer)
      mirror.informer.start()
      await mirror.until('the error', () => mirror.errors.length > 0)
      expect([mirror.errors[0]?.code, mirror.errors[0]?.message]).toEqual([
        'NOT_FOUND',
        expect.stringContaining('the server has no kind "Unheard" in v1 (kubectl api-resources lists all)'),
      ])
    }),
  )
})

test.each<[string, (exchange: Exchange) => void]>([
  ['to a list', () => {}],
  ['in the middle of a list', (exchange) => void exchange.write('{"kind":"ConfigMapList","items":[')],
])('a server that says nothing %s is given up, and retried', (_when, answer) =>
  Mirror.with({ fill: 1 }, async (mirror) => {
    mirror.fake.next(isAnyList, answer)
    mirror.informer.start()
    await mirror.untilPassing('the list to be there', () => mirror.informer.status.isSynced)
    await mirror.healed()
  }),
)

test('a server that says nothing to the opening of a watch is given up, and the watch resumes', () =>
  Mirror.live({ fill: 1 }, async (mirror) => {
    mirror.fake.next(isWatch, () => {})
    for (const watch of mirror.fake.collection.watching) watch.end()
    mirror.fake.collection.put('k1', 1)
    await mirror.untilPassing('the event to be there', () => mirror.informer.size === 2)
    expect(mirror.relists).toBe(0)
  }))

describe('credentials that take their time', () => {
  /** A mirror whose first credentials come when the test says so; the next ones at once. */
  const withSlow = (act: (mirror: Mirror, slow: { give(): void; readonly requested: number }) => Promise<void>) => {
    const first = Promise.withResolvers<void>()
    let requested = 0
    const slow = {
      give: () => first.resolve(),
      get requested() {
        return requested
      },
    }
    return Mirror.with(
      {
        fill: 1,
        configOf: (fake) => async () => {
          if (++requested === 1) await first.promise
          return fake.config()
        },
      },
      (mirror) => act(mirror, slow),
    )
  }

  test('are waited for, longer than the server would be', () =>
    withSlow(async (mirror, slow) => {
      mirror.informer.start()
      await mirror.pass(55_000)
      const errors = [...mirror.errors]
      slow.give()
      await mirror.live()
      expect([errors, mirror.errors, slow.requested]).toEqual([[], [], 1])
    }))

  test('of more than a minute are an error that says so, and are used when they come', () =>
    withSlow(async (mirror, slow) => {
      mirror.informer.start()
      await mirror.untilPassing('the error', () => mirror.errors.length > 0)
      expect(mirror.errors[0]?.code).toBe('UNAUTHORIZED')
      expect(mirror.errors[0]?.message).toContain('no credentials for 60 s')
      await mirror.untilPassing('the error again', () => mirror.errors.length > 1)
      slow.give()
      await mirror.live()
      expect(slow.requested).toBe(1)
    }))

  test('of more than five minutes are requested again', () =>
    withSlow(async (mirror, slow) => {
      const since = mirror.clock.now()
      mirror.informer.start()
      await mirror.untilPassing('another request for them', () => slow.requested > 1)
      expect(mirror.clock.now() - since).toBeGreaterThanOrEqual(300_000)
      await mirror.live()
      expect(slow.requested).toBe(2)
      slow.give()
    }))

  test('do not delay a stop', () =>
    withSlow(async (mirror, slow) => {
      mirror.informer.start()
      await waitUntil('a request for them', () => slow.requested > 0)
      await mirror.informer.stop()
      expect(mirror.clock.sleeping).toBe(0)
      slow.give()
    }))
})

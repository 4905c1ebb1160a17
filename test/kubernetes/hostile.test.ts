import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { SourceError } from '../../src/contract/errors.js'
import { isPlainList, isWatch } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror, type MirrorOptions } from './mirror.js'

const PAGED: MirrorOptions = { fill: 3, streams: false }

/** Answers the next list like this, and later ones correctly. Returns the reported errors. */
async function relisted(mirror: Mirror, answer: (exchange: Exchange) => void): Promise<SourceError[]> {
  await mirror.live()
  const { collection } = mirror.fake
  let isAsked = false
  mirror.fake.next(isPlainList, (exchange) => {
    isAsked = true
    mirror.errors.length = 0
    answer(exchange)
  })
  collection.pass()
  collection.compact()
  for (const watch of collection.watching) watch.end()
  await mirror.until('it to be reported', () => isAsked && mirror.errors.length > 0)
  const [...errors] = mirror.errors
  await mirror.follows('k1', 'after')
  return errors
}

describe('an answer to a list', () => {
  test.each([
    ['that has no items', { kind: 'ConfigMapList', metadata: { resourceVersion: '5000' } }],
    ['that is a table', { kind: 'Table', metadata: { resourceVersion: '5000' }, rows: [] }],
    ['whose items are not objects', { metadata: { resourceVersion: '5000' }, items: [null, 1] }],
    [
      'whose items have an escaped name',
      '{"metadata":{"resourceVersion":"5000"},"it\\u0065ms":[{"metadata":{"name":"k0"}}]}',
    ],
    ['whose items are not an array', { kind: 'ConfigMapList', metadata: { resourceVersion: '5000' }, items: {} }],
  ])('%s deletes nothing', (_what, body) =>
    Mirror.with(PAGED, async (mirror) => {
      const errors = await relisted(mirror, (exchange) =>
        typeof body === 'string' ? exchange.text(body, 200) : exchange.json(body),
      )
      expect(errors).toMatchObject([{ code: 'PROTOCOL' }])
    }),
  )

  test('with status 200 and an error in its body is that error', () =>
    Mirror.with(PAGED, async (mirror) => {
      const status = { kind: 'Status', metadata: {}, status: 'Failure', code: 403, message: 'not for you' }
      expect(await relisted(mirror, (exchange) => exchange.json(status))).toMatchObject([{ code: 'UNAUTHORIZED' }])
    }))

  test('whose envelope has no end is given up', () =>
    Mirror.with(PAGED, async (mirror) => {
      let sent = 0
      const endless = async (exchange: Exchange): Promise<void> => {
        await exchange.write('{"kind":"')
        for (; exchange.isOpen && sent < 64; sent++) await exchange.write('x'.repeat(1024 * 1024))
        exchange.end()
      }
      expect(await relisted(mirror, (exchange) => void endless(exchange))).toMatchObject([{ code: 'PROTOCOL' }])
      expect(sent).toBeLessThan(64)
    }))

  test('whose pages lead to themselves is given up', () =>
    Mirror.with(PAGED, async (mirror) => {
      const metadata = { resourceVersion: '5000', continue: 'again' }
      let requested = 0
      mirror.fake.rule(
        (exchange) => isPlainList(exchange) && requested < 50,
        (exchange) => {
          requested++
          exchange.json({ kind: 'ConfigMapList', metadata, items: [] })
        },
      )
      mirror.informer.start()
      await mirror.until('it to be reported', () => mirror.errors.length > 0)
      expect(mirror.errors[0]).toMatchObject({ code: 'PROTOCOL' })
      expect(requested).toBe(2)
    }))

  test('that is compressed without a request is reported as that', () =>
    Mirror.with(PAGED, async (mirror) => {
      const metadata = { resourceVersion: '5000' }
      const body = gzipSync(JSON.stringify({ kind: 'ConfigMapList', metadata, items: [] }))
      const errors = await relisted(mirror, (exchange) => {
        exchange.open({ 'content-encoding': 'gzip' })
        void exchange.write(body).then(() => exchange.end())
      })
      expect(errors).toMatchObject([{ code: 'PROTOCOL', message: expect.stringContaining('gzip') as unknown }])
    }))

  test('with a redirect is an error that names the target', () =>
    Mirror.with(PAGED, async (mirror) => {
      const errors = await relisted(mirror, (exchange) =>
        exchange.text('', 302, { location: 'https://login.example/' }),
      )
      expect(errors).toMatchObject([{ message: expect.stringContaining('login.example') as unknown }])
    }))

  test('after provisional responses is the answer', () =>
    Mirror.with(PAGED, async (mirror) => {
      mirror.fake.next(isPlainList, (exchange) => {
        exchange.provisional()
        mirror.fake.collection.answer(exchange)
      })
      await mirror.live()
      await mirror.healed()
      expect(mirror.errors).toEqual([])
    }))
})

const YEAR_2015 = 'Thu, 01 Jan 2015 00:00:0'
test.each([
  ['of hours is kept for ten minutes', { 'retry-after': '10000' }, 600_000],
  ['until a date far away is kept for ten minutes', { 'retry-after': 'Fri, 31 Dec 2100 23:59:59 GMT' }, 600_000],
  [
    'with a date is counted by the clock of the server',
    { date: `${YEAR_2015}0 GMT`, 'retry-after': `${YEAR_2015}7 GMT` },
    7_000,
  ],
])('a Retry-After %s', (_what, headers, retryAfterMs) =>
  Mirror.live(PAGED, async (mirror) => {
    mirror.fake.next(isWatch, (exchange) => exchange.refuse({ code: 429 }, headers))
    for (const watch of mirror.fake.collection.watching) watch.end()
    await mirror.until('it to be reported', () => mirror.errors.length > 0)
    expect(mirror.errors[0]?.retryAfterMs).toBe(retryAfterMs)
  }),
)

test.each(['zzzzzzzzzzzzzzzzzzzz', '99999999999999999999999999999999999999', '1e99', '00000000000009999999'])(
  'a watch with an event at "%s", which is not a version, continues with the next event',
  (resourceVersion) =>
    Mirror.live(PAGED, async (mirror) => {
      const [watch] = mirror.fake.collection.watching
      const metadata = { name: 'odd', namespace: 'default', uid: 'u', resourceVersion }
      await watch?.event('ADDED', { kind: 'ConfigMap', apiVersion: 'v1', metadata })
      await watch?.event('BOOKMARK', { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion } })
      const version = mirror.fake.collection.put('k1', 'after')
      await mirror.until('what comes after it', () => mirror.hasReached(version))
      expect(mirror.informer.get('default/k1')?.data).toEqual({ n: 'after' })
      expect([...mirror.informer.invalid.keys()]).toEqual(['default/odd'])
    }),
)

test('a watch with events without objects keeps the store', () =>
  Mirror.live(PAGED, async (mirror) => {
    const [watch] = mirror.fake.collection.watching
    for (const object of [null, 5, 'x', [], {}, { metadata: null }, { metadata: { name: 7 } }, { metadata: [] }])
      for (const type of ['ADDED', 'DELETED', 'BOOKMARK', '__proto__', null])
        await watch?.write(`${JSON.stringify({ type, object })}\n`)
    await watch?.write('null\n5\n[]\n"x"\n')
    const version = mirror.fake.collection.put('__proto__', 'after', {
      labels: JSON.parse('{"__proto__":"x"}') as unknown,
    })
    await mirror.until('what comes after it', () => mirror.hasReached(version))
    expect(mirror.informer.get('default/__proto__')?.metadata['labels']).toEqual(JSON.parse('{"__proto__":"x"}'))
  }))

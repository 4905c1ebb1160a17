import { describe, expect, test } from 'vitest'
import { waitUntil } from '../servers/wait-until.js'
import { isAny, isAnyList, isPlainList, isWatch } from './fake.js'
import { EXPIRED } from './fake-exchange.js'
import { Mirror } from './mirror.js'

/** What other informers of JavaScript were found to do wrong; each letter is a story of theirs, and here how it must end. */
describe('known failures of other informers', () => {
  test('A: an object has one shape, whether it came with a list or with a watch', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(2) }, async (mirror) => {
      await mirror.live()
      mirror.fake.collection.put('k0', 'changed')
      await mirror.healed()
      const times = mirror.informer.list().map(({ metadata }) => metadata['creationTimestamp'])
      expect(times).toEqual(['2026-01-02T03:04:05Z', '2026-01-02T03:04:05Z'])
    }))

  test('B: a handler that throws holds up neither other handlers nor the version', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(2) }, async (mirror) => {
      mirror.informer.subscribe({
        add: () => {
          throw new Error('a bug of the user')
        },
      })
      await mirror.live()
      const version = mirror.fake.collection.put('late', 1)
      await mirror.healed()
      expect(mirror.informer.version).toContain(version)
      expect(new Set(mirror.errors.map(({ code }) => code))).toEqual(new Set(['HANDLER']))
    }))

  test('C: a connection that is reset is reopened, and the watch resumes', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3) }, async (mirror) => {
      await mirror.live()
      const version = mirror.fake.collection.put('k0', 'before')
      await mirror.healed()
      mirror.fake.collection.watching[0]?.reset()
      mirror.fake.collection.put('k1', 'after')
      await mirror.healed()
      expect(mirror.relists).toBe(0)
      expect(mirror.fake.watches.at(-1)?.query.get('resourceVersion')).toBe(version)
    }))

  for (const code of [429, 503])
    test(`D: a ${code} at the opening of a watch is retried after Retry-After`, () =>
      Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
        await mirror.live()
        let refusedAt = 0
        let openedAt = 0
        mirror.fake.next(isWatch, (exchange) => {
          refusedAt = mirror.clock.now()
          exchange.refuse({ code, reason: 'TooManyRequests' }, { 'retry-after': '7' })
          mirror.fake.next(isWatch, (later) => {
            openedAt = mirror.clock.now()
            mirror.fake.collection.answer(later)
          })
        })
        mirror.fake.collection.watching[0]?.reset()
        mirror.fake.collection.put('k1', 1)
        await mirror.healed()
        expect(openedAt - refusedAt).toBeGreaterThanOrEqual(7_000)
        expect(mirror.relists).toBe(0)
      }))

  test('E: a first list that fails is tried again', () =>
    Mirror.with(
      {
        prepare: (fake) => {
          fake.collection.fill(3)
          fake.next(isAnyList, (exchange) => exchange.refuse({ code: 500, reason: 'InternalError' }), 2)
        },
      },
      async (mirror) => {
        await mirror.live()
        await mirror.healed()
        expect(mirror.errors.map(({ code }) => code)).toEqual(['UNAVAILABLE', 'UNAVAILABLE'])
      },
    ))

  test('F: a failure within a stream is reported, and the watch opened again', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3) }, async (mirror) => {
      await mirror.live()
      const watch = mirror.fake.collection.watching[0]
      await watch?.error({ code: 500, reason: 'InternalError', message: 'etcdserver: request timed out' })
      watch?.end()
      await mirror.until('the failure to be reported', () => mirror.errors.length > 0)
      mirror.fake.collection.put('k1', 'after')
      await mirror.healed()
      expect(mirror.errors[0]).toMatchObject({ code: 'UNAVAILABLE', phase: 'watch' })
      expect(mirror.errors[0]?.message).toContain('etcdserver: request timed out')
      expect(mirror.relists).toBe(0)
    }))

  test('H: a stop between two attempts leaves no attempt behind', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      mirror.fake.collection.watching[0]?.reset()
      await waitUntil('the next attempt to be planned', () => mirror.informer.status.retryInMs !== undefined)
      const requested = mirror.fake.exchanges.length
      await mirror.informer.stop()
      await mirror.clock.advance(3_600_000)
      expect(mirror.fake.exchanges.length).toBe(requested)
    }))

  test('I: a stop during a list calls no handler, and opens no watch', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      const requested = mirror.fake.taken(isAnyList)
      mirror.informer.start()
      const list = await requested
      const stopped = mirror.informer.stop()
      mirror.fake.collection.answer(list)
      await stopped
      await mirror.clock.advance(3_600_000)
      expect([mirror.delivered.count, mirror.fake.watches.length]).toEqual([0, 0])
    }))

  test('J: 200 000 objects of one namespace are listed', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(200_000) }, async (mirror) => {
      await mirror.live()
      expect(mirror.informer.list()).toHaveLength(200_000)
    }))

  test('K: a watch requests bookmarks, and advances with them past other resources', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      expect(mirror.fake.collection.watching[0]?.query.get('allowWatchBookmarks')).toBe('true')
      const version = mirror.fake.collection.pass()
      await mirror.fake.collection.bookmark()
      await mirror.until('the bookmark to be there', () => mirror.hasReached(version))
      mirror.fake.collection.compact()
      mirror.fake.collection.watching[0]?.reset()
      mirror.fake.collection.put('k0', 'after')
      await mirror.healed()
      expect(mirror.relists).toBe(0)
    }))

  test('K: a watch requests a timeout, and no two the same one', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      for (let times = 0; times < 4; times++) {
        const opened = mirror.fake.watches.length
        mirror.fake.collection.watching.at(-1)?.reset()
        await mirror.until('another watch', () => mirror.fake.watches.length > opened)
      }
      const ends = mirror.fake.watches.map(({ query }) => Number(query.get('timeoutSeconds')))
      expect(Math.min(...ends)).toBeGreaterThan(0)
      expect(new Set(ends).size).toBeGreaterThan(1)
    }))

  test('L: an object that was deleted and recreated meanwhile is delivered as a delete and an add', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      const delivered: string[] = []
      const { collection } = mirror.fake
      const tell = ({ type }: { readonly type: string }): number => delivered.push(type)
      mirror.informer.subscribe({ update: tell, delete: tell, add: tell })
      await waitUntil('the existing objects', () => delivered.length === 1)
      const over = mirror.fake.rule(isWatch, (exchange) => exchange.reset())
      for (const watch of collection.watching) watch.reset()
      collection.delete('k0')
      collection.put('k0', 'again')
      collection.compact()
      over()
      await mirror.healed()
      await waitUntil('all events', () => delivered.length === 3)
      expect(delivered).toEqual(['add', 'delete', 'add'])
    }))

  test('M: a version that has expired twice is followed each time by one list, and its watch at once', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(3) }, async (mirror) => {
      await mirror.live()
      const { fake, clock } = mirror
      const gaps: number[] = []
      for (let times = 0; times < 2; times++) {
        let listedAt = 0
        fake.next(isAnyList, (exchange) => {
          listedAt = clock.now()
          fake.collection.answer(exchange)
        })
        fake.rule(isWatch, (exchange) => {
          gaps.push(clock.now() - listedAt)
          fake.collection.answer(exchange)
        })
        const watch = fake.collection.watching[0]
        await watch?.error(EXPIRED)
        watch?.end()
        await mirror.until('a list after it', () => mirror.relists === times + 1)
        await mirror.until('a watch after it', () => fake.collection.watching.some(({ isOpen }) => isOpen))
      }
      fake.collection.put('k0', 'after')
      await mirror.healed()
      expect(gaps.every((gap) => gap === 0)).toBe(true)
    }))

  test('N: a server that closes each watch at once receives ever fewer requests', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      const at: number[] = []
      mirror.fake.rule(isWatch, (exchange) => {
        at.push(mirror.clock.now())
        exchange.open()
        exchange.end()
      })
      for (const watch of mirror.fake.collection.watching) watch.end()
      await mirror.until('eight attempts', () => at.length >= 8)
      expect((at[7] ?? 0) - (at[0] ?? 0)).toBeGreaterThan(20_000)
      expect(mirror.relists).toBe(0)
    }))

  test('O: a watch that has fallen silent is closed, and resumes over another connection', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      const watch = mirror.fake.collection.watching[0]
      await mirror.pass(150_000)
      await mirror.until('it to be given up', () => watch?.isOpen === false)
      mirror.fake.collection.put('k0', 'after')
      await mirror.healed()
      expect(mirror.relists).toBe(0)
    }))

  test('P: a watch that says something now and then is kept', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      const watch = mirror.fake.collection.watching[0]
      for (let minute = 0; minute < 4; minute++) {
        await mirror.pass(50_000)
        const version = mirror.fake.collection.put('k0', minute)
        await mirror.until('the event to be there', () => mirror.hasReached(version))
      }
      expect(watch?.isOpen).toBe(true)
      expect(mirror.errors).toEqual([])
    }))

  test('Q: a stop is not an error', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      await mirror.informer.stop()
      await waitUntil('the connections to be gone', () => mirror.fake.connections === 0)
      expect(mirror.errors).toEqual([])
    }))

  test('R: a list in pages is read to its end', () =>
    Mirror.with(
      {
        prepare: ({ collection }) => {
          collection.fill(25)
          collection.hasStreamedLists = false
          collection.largestPage = 10
        },
      },
      async (mirror) => {
        await mirror.live()
        await mirror.healed()
        expect(mirror.fake.exchanges.filter((exchange) => isPlainList(exchange)).length).toBeGreaterThanOrEqual(3)
      },
    ))

  test('and all requests are for the one collection, its name and its schema', () =>
    Mirror.with({ prepare: ({ collection }) => collection.fill(1) }, async (mirror) => {
      await mirror.live()
      await mirror.healed()
      const paths = mirror.fake.exchanges.filter(isAny).map(({ path }) => path)
      expect(new Set(paths)).toEqual(new Set(['/api/v1', '/openapi/v3', '/api/v1/namespaces/default/configmaps']))
    }))
})

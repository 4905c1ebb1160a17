import diagnostics from 'node:diagnostics_channel'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../adapters/memory/index.js'
import type { Logger } from '../../src/contract/status.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { VirtualClock } from '../../testing/virtual-clock.js'
import { deferred, informerOf, mirrorOf, outcomeOf, warnings } from '../support/informers.js'
import { scripted } from '../support/scripted-source.js'

/** A logger that tells. */
function loggerInto(told: string[]): Logger {
  const tell = (message: string): void => void told.push(message)
  return { debug: tell, info: tell, warn: tell, error: tell }
}

/** Those who could be told of an error, and what they were told. */
const whom: readonly (readonly [
  string,
  (told: string[]) => { logger?: Logger; listen?: (to: Informer<number>) => void },
])[] = [
  ['a listener', (told) => ({ listen: (to) => to.on('error', ({ message }) => told.push(message)) })],
  ['a logger', (told) => ({ logger: loggerInto(told) })],
  [
    'a channel',
    (told) => {
      const tell = (message: unknown): void => void told.push(String(message))
      diagnostics.subscribe('listwatch:error', tell)
      onTestFinished(() => void diagnostics.unsubscribe('listwatch:error', tell))
      return {}
    },
  ],
  ['a warning of the process', () => ({})],
]

// I15
describe('after stop() has settled nobody is told of an error any more', () => {
  test.each(whom)('that a handler still throws: %s', async (who, telling) => {
    const told = who === 'a warning of the process' ? warnings() : []
    if (who === 'a channel') warnings()
    const { logger, listen } = telling(told)
    const clock = new VirtualClock()
    const source = memorySource<number>({ entries: [['a', 1]] })
    const informer = createInformer<number, object>({ source, clock, ...(logger === undefined ? {} : { logger }) })
    listen?.(informer)
    const hanging = deferred()
    informer.subscribe({ add: () => hanging.promise })
    informer.start()
    await clock.advance(0)
    const stopped = informer.stop()
    await clock.advance(1_000)
    await stopped
    const before = [...told]
    hanging.reject(new Error('too late'))
    await clock.advance(0)
    expect(told).toEqual(before)
  })

  test('that a run of a controller still throws', async () => {
    const { clock, informer, errors } = mirrorOf<number, object>([['a', 1]])
    const hanging = deferred()
    informer.reconcile(() => hanging.promise)
    informer.start()
    await clock.advance(0)
    const stopped = informer.stop()
    await clock.advance(1_000)
    await stopped
    hanging.reject(new Error('too late'))
    await clock.advance(600_000)
    expect(errors).toEqual([])
  })

  test('that a handler throws whose subscription was closed before', async () => {
    const { clock, informer, errors } = mirrorOf<number, object>([['a', 1]])
    const hanging = deferred()
    const subscription = informer.subscribe({ add: () => hanging.promise })
    informer.start()
    await clock.advance(0)
    const closed = subscription.close()
    await clock.advance(1_000)
    await closed
    await informer.stop()
    hanging.reject(new Error('too late'))
    await clock.advance(0)
    expect(errors).toEqual([])
  })

  test('what a source has to say while it is cleaning up is told nobody', async () => {
    const said: string[] = []
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source, { logger: loggerInto(said) })
    informer.start()
    await clock.advance(0)
    await informer.stop()
    const before = [...said]
    source.watches[0]?.context.warn?.('the connection is lost')
    expect(said).toEqual(before)
  })

  test('what a source warns of is no warning of the process', async () => {
    const said = warnings()
    const source = scripted<number>({ onList: (list) => list.answer([], '5') })
    const { clock, informer } = informerOf(source)
    informer.start()
    await clock.advance(0)
    source.watches[0]?.context.warn?.('the connection is slow')
    const before = [...said]
    expect(before).toEqual([expect.stringContaining('the connection is slow')])
    await informer.stop()
    source.watches[0]?.context.warn?.('the connection is lost')
    expect(said).toEqual(before)
  })
})

describe('while stop() has not settled', () => {
  // I14
  test('what a handler throws is reported', async () => {
    const { clock, informer, errors } = mirrorOf<number, object>([['a', 1]])
    const hanging = deferred()
    informer.subscribe({ add: () => hanging.promise })
    informer.start()
    await clock.advance(0)
    const stopped = informer.stop()
    await clock.advance(999)
    hanging.reject(new Error('in time'))
    await clock.advance(0)
    await stopped
    expect(errors).toMatchObject([{ code: 'HANDLER', key: 'a' }])
  })
})

// I15
describe('who begins to follow while a filter of its own stops the informer', () => {
  test('as a subscription is told nothing', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    const told: string[] = []
    const stops: Promise<void>[] = []
    const filter = (): boolean => stops.push(informer.stop()) > 0
    informer.subscribe({ add: ({ key }) => void told.push(key) }, { filter })
    await clock.advance(1_000)
    await Promise.all(stops)
    expect(told).toEqual([])
  })

  test('as a controller runs nothing', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    const told: string[] = []
    informer.reconcile(async (key) => void told.push(key), {
      filter: () => {
        void informer.stop()
        return true
      },
    })
    await clock.advance(1_000)
    expect(told).toEqual([])
  })

  test('as an iterator has come to the end', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    const filter = (): boolean => {
      void informer.stop()
      return true
    }
    const [changes] = [informer.changes({ filter })[Symbol.asyncIterator]()]
    const next = changes.next()
    expect(await outcomeOf(next, clock)).toBe('resolved')
    expect(await next).toEqual({ value: undefined, done: true })
  })
})

describe('who is closed by a filter, as the first list comes', () => {
  test('is asked nothing any more', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    const asked: string[] = []
    const filter = (of: string) => () => {
      asked.push(of)
      void second.close()
      return true
    }
    informer.subscribe({}, { filter: filter('first') })
    const second = informer.subscribe({}, { filter: filter('second') })
    informer.start()
    await clock.advance(0)
    expect(asked).toEqual(['first'])
  })

  test('though it is its own, has nothing that waits', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    const filter = (): boolean => {
      void subscription.close()
      return true
    }
    const subscription = informer.subscribe({}, { filter })
    informer.start()
    await clock.advance(0)
    expect(subscription.backlog.keys).toBe(0)
  })
})

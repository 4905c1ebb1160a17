import diagnostics from 'node:diagnostics_channel'
import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import type { Logger } from '../../../src/contract/status.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { deferred, informerOf, mirrorOf, outcomeOf, warnings } from '../../support/informers.js'
import { scripted } from '../../support/scripted-source.js'

/** A logger that appends every message to an array. */
function loggerInto(messages: string[]): Logger {
  const record = (message: string): void => void messages.push(message)
  return { debug: record, info: record, warn: record, error: record }
}

/** Every way to observe an error, with the messages that it has received. */
const observers: readonly (readonly [
  string,
  (messages: string[]) => { logger?: Logger; listen?: (to: Informer<number>) => void },
])[] = [
  ['a listener', (messages) => ({ listen: (to) => to.on('error', ({ message }) => messages.push(message)) })],
  ['a logger', (messages) => ({ logger: loggerInto(messages) })],
  [
    'a channel',
    (messages) => {
      const record = (message: unknown): void => void messages.push(String(message))
      diagnostics.subscribe('listwatch:error', record)
      onTestFinished(() => void diagnostics.unsubscribe('listwatch:error', record))
      return {}
    },
  ],
  ['the process warnings', () => ({})],
]

// I15
describe('[I15] after stop() has settled no error is reported', () => {
  test.each(observers)('an error that a handler throws later does not reach %s', async (observer, attach) => {
    const messages = observer === 'the process warnings' ? warnings() : []
    if (observer === 'a channel') warnings()
    const { logger, listen } = attach(messages)
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
    const before = [...messages]
    hanging.reject(new Error('too late'))
    await clock.advance(0)
    expect(messages).toEqual(before)
  })

  test('an error of a controller run that ends later is not reported', async () => {
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

  test('an error of a handler whose subscription was closed is not reported', async () => {
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

  test('a warning of a source that is closing is not logged', async () => {
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

  test('a warning of a source does not become a process warning', async () => {
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
  test('an error that a handler throws is reported', async () => {
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
describe('if the filter of a new consumer stops the informer', () => {
  test('a subscription receives no change', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    const keys: string[] = []
    const stops: Promise<void>[] = []
    const filter = (): boolean => stops.push(informer.stop()) > 0
    informer.subscribe({ add: ({ key }) => void keys.push(key) }, { filter })
    await clock.advance(1_000)
    await Promise.all(stops)
    expect(keys).toEqual([])
  })

  test('a controller starts no run', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    informer.start()
    await clock.advance(0)
    const keys: string[] = []
    informer.reconcile(async (key) => void keys.push(key), {
      filter: () => {
        void informer.stop()
        return true
      },
    })
    await clock.advance(1_000)
    expect(keys).toEqual([])
  })

  test('a change stream ends', async () => {
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

describe('if a filter closes a subscription during the first list', () => {
  test('the filter of the closed subscription is not called', async () => {
    const { clock, informer } = mirrorOf<number, object>([['a', 1]])
    const filtered: string[] = []
    const filter = (of: string) => () => {
      filtered.push(of)
      void second.close()
      return true
    }
    informer.subscribe({}, { filter: filter('first') })
    const second = informer.subscribe({}, { filter: filter('second') })
    informer.start()
    await clock.advance(0)
    expect(filtered).toEqual(['first'])
  })

  test('a subscription that its own filter closes has an empty backlog', async () => {
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

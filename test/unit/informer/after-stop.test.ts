import diagnostics from 'node:diagnostics_channel'
import { expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { createInformer, type Informer, type Logger } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, informerOf, mirrorOf, warnings } from '../../support/informers.js'
import { listed, running } from '../../support/running.js'

/** A logger that appends every message to an array. */
function loggerInto(messages: string[]): Logger {
  const record = (message: string): void => void messages.push(message)
  return { debug: record, info: record, warn: record, error: record }
}

/** Every way to observe an error, with the messages that it has received. */
const observers = Object.entries<(messages: string[]) => { logger?: Logger; listen?: (to: Informer<number>) => void }>({
  'a listener': (messages) => ({ listen: (to) => to.on('error', ({ message }) => messages.push(message)) }),
  'a logger': (messages) => ({ logger: loggerInto(messages) }),
  'a channel': (messages) => {
    const record = (message: unknown): void => void messages.push(String(message))
    diagnostics.subscribe('listwatch:error', record)
    onTestFinished(() => void diagnostics.unsubscribe('listwatch:error', record))
    return {}
  },
  'the process warnings': () => ({}),
})

test.each(observers)(
  '[I15] an error that a handler or a run throws later does not reach %s',
  async (observer, attach) => {
    const said = warnings()
    const messages = observer === 'the process warnings' ? said : []
    const { logger, listen } = attach(messages)
    const clock = new VirtualClock()
    const source = memorySource<number>({ entries: [['a', 1]] })
    const informer = createInformer<number, object>({ source, clock, ...(logger === undefined ? {} : { logger }) })
    listen?.(informer)
    const hanging = Promise.withResolvers<void>()
    informer.subscribe({ add: () => hanging.promise })
    informer.reconcile(() => hanging.promise)
    await running({ clock, informer })
    await assertCleanStop(informer, clock)
    const before = [...messages]
    hanging.reject(new Error('too late'))
    await clock.advance(600_000)
    expect(messages).toEqual(before)
  },
)

test('[I15] a warning of a source does not become a process warning', async () => {
  const said = warnings()
  const { source, informer } = await running(informerOf(listed<number>([], '5')))
  source.watches[0]?.context.warn?.('the connection is slow')
  const before = [...said]
  expect(before).toEqual([expect.stringContaining('the connection is slow')])
  await informer.stop()
  source.watches[0]?.context.warn?.('the connection is lost')
  expect(said).toEqual(before)
})

test('an error that a handler throws while stop() has not settled is reported', async () => {
  const { clock, informer, errors } = mirrorOf<number, object>([['a', 1]])
  const hanging = Promise.withResolvers<void>()
  informer.subscribe({ add: () => hanging.promise })
  await running({ clock, informer })
  const stopped = informer.stop()
  await clock.advance(999)
  hanging.reject(new Error('in time'))
  await clock.advance(0)
  await stopped
  expect(errors).toMatchObject([{ code: 'HANDLER', key: 'a' }])
})

test.each<[string, (informer: Informer<number>, filter: () => boolean, keys: string[]) => unknown]>([
  ['a subscription', (to, filter, keys) => to.subscribe({ add: ({ key }) => void keys.push(key) }, { filter })],
  ['a controller', (to, filter, keys) => to.reconcile(async (key) => void keys.push(key), { filter })],
  [
    'a change stream',
    async (to, filter, keys) => {
      for await (const { changes } of to.changes({ filter })) keys.push(...changes.map(({ key }) => key))
    },
  ],
])('[I15] if the filter of %s stops the informer, nothing is delivered', async (_what, follow) => {
  const { clock, informer } = await running(mirrorOf<number, object>([['a', 1]]))
  const keys: string[] = []
  const stops: Promise<void>[] = []
  const end = follow(informer, () => stops.push(informer.stop()) > 0, keys)
  await clock.advance(1_000)
  await Promise.all([...stops, end])
  expect([keys, stops.length]).toEqual([[], 1])
})

test('the filter of a subscription that another filter closes during the first list is not called', async () => {
  const { clock, informer } = mirrorOf<number, object>([['a', 1]])
  const filtered: string[] = []
  const filter = (of: string) => () => {
    filtered.push(of)
    void second.close()
    return true
  }
  informer.subscribe({}, { filter: filter('first') })
  const second = informer.subscribe({}, { filter: filter('second') })
  await running({ clock, informer })
  expect(filtered).toEqual(['first'])
})

import diagnostics from 'node:diagnostics_channel'
import { expect, onTestFinished, test, vi } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { createInformer, type Logger, SourceError } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, informerOf, mirrorOf, warnings } from '../../support/informers.js'
import { running } from '../../support/running.js'
import { scripted } from '../../support/scripted-source.js'

const failingHandlers = () => ({
  add: () => {
    throw new Error('no')
  },
})

/** An informer without an error listener. */
function unheard(logger?: Logger) {
  const clock = new VirtualClock()
  const source = memorySource<number>({ entries: [['a', 1]] })
  const informer = createInformer({ source, clock, ...(logger === undefined ? {} : { logger }) })
  onTestFinished(() => assertCleanStop(informer, clock))
  return { clock, informer, source }
}

function memoLogger(): Logger & { lines: string[] } {
  const lines: string[] = []
  const at = (level: string) => (message: string, fields?: object) => {
    lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  }
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

function loggerOf(log: () => unknown): Logger {
  return { debug: log, info: log, warn: log, error: log }
}

function fail(): never {
  throw new Error('the disk is full')
}

test('an error without a listener is a process warning with its stack, at most once a minute', async () => {
  using spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const { clock, informer, source } = unheard()
  informer.subscribe(failingHandlers())
  await running({ clock, informer })
  source.put('b', 1)
  await clock.advance(59_000)
  source.put('c', 1)
  await clock.advance(0)
  expect(spy).toHaveBeenCalledTimes(1)
  await clock.advance(1_000)
  source.put('d', 1)
  await clock.advance(0)
  expect(spy).toHaveBeenCalledTimes(2)
  const [warning, options] = spy.mock.calls[0] ?? []
  expect(String(warning)).toContain('the add handler on memory failed at key "a": no')
  expect(options).toMatchObject({ detail: expect.stringContaining('informer-events.test.ts') })
})

test('a warning of a source goes to the logger, or without one to the process, and is not an error', async () => {
  for (const logger of [undefined, memoLogger()]) {
    const said = warnings()
    const source = scripted<number>({ onList: ({ context }) => context.warn?.('the server is old') })
    const { errors } = await running(informerOf(source, logger === undefined ? {} : { logger }))
    expect(said).toEqual(logger === undefined ? ['scripted: the server is old'] : [])
    if (logger !== undefined) expect(logger.lines).toContain('warn scripted: the server is old {}')
    expect(errors).toEqual([])
  }
})

test.each([
  ['error', ['idle > listing', 'UNAUTHORIZED', 'failed > stopped']],
  ['status', ['idle > listing', 'UNAUTHORIZED', 'listing > failed', 'failed > stopped']],
])('if a listener of "%s" stops the informer, the others receive the events in their order', async (by, told) => {
  const { clock, informer, source } = mirrorOf<number, object>([['a', 1]])
  source.fail(new SourceError('no rights', { code: 'UNAUTHORIZED' }))
  const seen: string[] = []
  if (by === 'error') informer.on('error', () => void informer.stop())
  informer.on('error', ({ code }) => seen.push(code))
  if (by === 'status') informer.on('status', ({ state }) => void (state === 'failed' && informer.stop()))
  informer.on('status', (status, previous) => seen.push(`${previous.state} > ${status.state}`))
  await running({ clock, informer })
  expect(seen).toEqual(told)
})

test('[I14] a listener that throws affects no other listener, and is a process warning; off removes a listener', async () => {
  const said = warnings()
  const { clock, informer, errors } = mirrorOf<number, object>([['a', 1]])
  const [before, removed]: [SourceError[], SourceError[]] = [[], []]
  const listener = (error: SourceError): void => void removed.push(error)
  informer.on('error', () => {
    throw new Error('mine')
  })
  informer.on('error', listener).off('error', listener)
  const { info } = loggerOf(async () => fail())
  informer.on('status', () => info('not awaited'))
  informer.on('error', (error) => before.push(error))
  informer.subscribe(failingHandlers())
  await running({ clock, informer })
  expect([errors.length, before.length, removed]).toEqual([1, 1, []])
  expect(said).toEqual([expect.stringMatching(/^a listener of "(error|status)" on memory threw: /)])
})

test.each(['failed', 'backing-off'])('[D12] the state %s is emitted, though a relist is requested', async (state) => {
  const { clock, informer, source } = mirrorOf<number, object>([['a', 1]])
  const states: string[] = []
  informer.on('error', () => void informer.relist().catch(() => {}))
  informer.on('status', (status, previous) => states.push(`${previous.state} > ${status.state}`))
  if (state === 'failed') source.fail(new SourceError('no rights', { code: 'UNAUTHORIZED' }), 1_000)
  await running({ clock, informer })
  if (state === 'backing-off') source.disconnect()
  await clock.advance(0)
  expect([informer.status.state, states.at(-1)]).toEqual([state, expect.stringMatching(` > ${state}$`)])
})

test('a logger receives each state and each failure, and the process emits no warning', async () => {
  const said = warnings()
  const logger = memoLogger()
  const { clock, informer, source } = unheard(logger)
  informer.subscribe(failingHandlers())
  await running({ clock, informer })
  source.disconnect()
  await clock.advance(1_000)
  expect(logger.lines.map((line) => line.split(':')[0])).toEqual([
    'info memory is listing',
    'warn the add handler on memory failed at key "a"',
    'info memory is connecting',
    'info memory is live',
    'warn watch of memory failed',
    'info memory is backing-off',
    'info memory is connecting',
    'info memory is live',
  ])
  expect(logger.lines[1]).toContain('failed at key "a": no {"code":"HANDLER","key":"a"}')
  expect(said).toEqual([])
})

test.each<[string, Logger]>([
  ['throws', loggerOf(fail)],
  ['rejects', loggerOf(async () => fail())],
  ['lacks methods', {} as Logger],
])('a logger that %s does not affect the informer, and is a process warning', async (_what, logger) => {
  const said = warnings()
  const { clock, informer, source } = unheard(logger)
  informer.subscribe(failingHandlers())
  await running({ clock, informer })
  source.disconnect()
  source.put('b', 2)
  await clock.advance(2_000)
  expect([informer.status.state, informer.get('b')]).toEqual(['live', 2])
  expect(said[0]).toContain('the logger of memory threw')
})

test('every message of an informer with a name has that name and the source', async () => {
  const logger = memoLogger()
  const transform = (n: number): number => (n > 1 ? fail() : n)
  const { clock, informer, errors, source } = mirrorOf<number, object>([['a', 1]], {
    name: 'orders',
    logger,
    transform,
  })
  source.fail(new SourceError('no', { code: 'UNAVAILABLE' }))
  informer.subscribe({ ...failingHandlers(), update: () => {} }, { name: 'mail' })
  informer.reconcile(async () => fail(), { retry: { maxAttempts: 1 } })
  await running({ clock, informer })
  await clock.advance(11_000)
  source.put('b', 2)
  await clock.advance(1)
  source.stall()
  const [wait, mark] = [{ timeoutMs: 1 }, source.put('c', 1)]
  const outcomes = Promise.allSettled([informer.until('x', () => false, wait), informer.waitFor(mark, wait)])
  await clock.advance(1)
  await informer.stop()
  const after = await informer.synced().catch((error: unknown) => error)
  const rejected = (await outcomes).flatMap((each) => (each.status === 'rejected' ? [each.reason.message] : []))
  const messages = [...logger.lines, ...errors.map(({ message }) => message), ...rejected, String(after)]
  expect(messages.filter((message) => !message.includes('orders (memory)'))).toEqual([])
  expect(errors.map(({ phase }) => phase)).toEqual(['list', 'handle', 'handle', 'decode'])
  expect([rejected.length, messages.length > 12]).toEqual([2, true])
})

test('the diagnostics channels publish states, batches and errors', async () => {
  const messages: string[] = []
  const text = (message: unknown): string =>
    JSON.stringify(message, (key, value) => (key === 'status' || key === 'previous' ? value.state : value))
  for (const name of ['status', 'batch', 'error']) {
    const listener = (message: unknown): void => void messages.push(`${name} ${text(message)}`)
    diagnostics.subscribe(`listwatch:${name}`, listener)
    onTestFinished(() => void diagnostics.unsubscribe(`listwatch:${name}`, listener))
  }
  const { clock, source, informer } = mirrorOf<number, object>([['a', 1]], { name: 'numbers' })
  informer.subscribe(failingHandlers())
  await running({ clock, informer })
  const version = source.put('a', 2)
  await clock.advance(0)
  const origin = { informer: 'numbers', source: 'memory' }
  expect(messages).toContain(`status ${text({ ...origin, status: { state: 'listing' }, previous: { state: 'idle' } })}`)
  const batch = { ...origin, origin: 'watch', changes: 1, version, position: version }
  expect(messages).toContain(`batch ${text(batch)}`)
  expect(messages).toContainEqual(expect.stringMatching(/^error .*HANDLER/))
})

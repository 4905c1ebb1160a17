import diagnostics from 'node:diagnostics_channel'
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { type DataPoint, type Histogram, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { SourceError } from '../../../src/contract/errors.js'
import { sourceSet } from '../../../src/index.js'
import { METRICS } from '../../../telemetry/metrics.js'
import { type InstrumentationOptions, instrumentInformers } from '../../../telemetry/opentelemetry/index.js'
import { informerOf, mirrorOf, order } from '../../support/informers.js'
import { RELIST_REASONS } from '../../support/prometheus-text.js'
import { listed, running } from '../../support/running.js'
import { put, scripted } from '../../support/scripted-source.js'

const orders = Object.entries({ a: order(1, 'acme'), b: order(2, 'beta') })

class Reader extends MetricReader {
  protected async onForceFlush(): Promise<void> {}
  protected async onShutdown(): Promise<void> {}
}

/** Without options each write has a span. */
function instrumented(options: Pick<InstrumentationOptions, 'minApplyMs'> = { minApplyMs: 0 }) {
  const reader = new Reader()
  const exporter = new InMemorySpanExporter()
  const meterProvider = new MeterProvider({ readers: [reader] })
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const end = instrumentInformers({ meterProvider, tracerProvider, ...options })
  onTestFinished(end)
  return {
    end,
    /** The points of a metric that concern an informer. */
    async points<V = number>(name: string, informer: string) {
      const { resourceMetrics, errors } = await reader.collect()
      expect(errors).toEqual([])
      const metric = resourceMetrics.scopeMetrics
        .flatMap(({ metrics }) => metrics)
        .find((m) => m.descriptor.name === name)
      const points = (metric?.dataPoints ?? []) as readonly DataPoint<unknown>[]
      return points.filter(({ attributes }) => attributes['listwatch.informer'] === informer) as readonly DataPoint<V>[]
    },
    /** The finished spans that concern an informer. */
    spans: (informer: string) =>
      exporter.getFinishedSpans().filter(({ attributes }) => attributes['listwatch.informer'] === informer),
  }
}

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()))
afterAll(() => context.disable())

describe('instrumentInformers', () => {
  test.each([true, false])('exports an informer that has stopped, if it was exported before: %s', async (isFirst) => {
    const { points } = instrumented()
    const { informer } = await running(mirrorOf(orders, { name: 'stopping' }))
    const state = async (): Promise<unknown> =>
      (await points('listwatch.state', informer.name)).find(({ value }) => value === 1)?.attributes['listwatch.state']
    if (!isFirst) expect(await state()).toBe('live')
    await informer.stop()
    expect([await state(), await state()]).toEqual(['stopped', 'stopped'])
    expect((await points('listwatch.objects', informer.name)).map(({ value }) => value)).toEqual([2])
  })

  test('[O8] exports no numbers of a stopped informer whose name another one has since', async () => {
    const { points } = instrumented()
    const first = mirrorOf(orders, { name: 'handed over' }).informer
    first.reconcile(async () => {}, { name: 'of the first' })
    await first.start().synced()
    await first.stop()
    expect(mirrorOf(orders, { name: first.name }).informer.name).toBe(first.name)
    expect(await points('listwatch.controller.open', first.name)).toEqual([])
    expect((await points('listwatch.objects', first.name)).map(({ value }) => value)).toEqual([0])
  })

  test('exports the metrics of informers that were created before and after it, and of at most 100 that have stopped', async () => {
    const before = mirrorOf(orders, { name: 'before' }).informer
    await before.start().synced()
    const { points } = instrumented()
    mirrorOf(orders, { name: 'after' })
    const values = async (name: string) => (await points('listwatch.objects', name)).map(({ value }) => value)
    expect([await values('before'), await values('after')]).toEqual([[2], [0]])
    for (let nth = 1; nth <= 101; nth++) await mirrorOf(orders, { name: `short-${nth}` }).informer.stop()
    const counts = [1, 2, 101].map(async (nth) => (await values(`short-${nth}`)).length)
    expect(await Promise.all(counts)).toEqual([0, 1, 1])
  })

  test('a reading after its end exports the numbers at the end', async () => {
    const { end, points } = instrumented()
    const { clock, source, informer } = await running(mirrorOf(orders, { name: 'last reading' }))
    const values = async (name: string): Promise<readonly number[]> =>
      (await points(name, informer.name)).map(({ value }) => value)
    expect(await values('listwatch.changes')).toEqual([0])
    source.put('c', order(3))
    await clock.advance(0)
    await informer.stop()
    end()
    expect([await values('listwatch.objects'), await values('listwatch.changes')]).toEqual([[3], [1]])
    const states = await points('listwatch.state', informer.name)
    expect(states.find(({ value }) => value === 1)?.attributes['listwatch.state']).toBe('stopped')
  })

  test('exports the same metrics as metricsText, in seconds, with names as attributes', async () => {
    const { points } = instrumented()
    const { clock, informer } = mirrorOf(orders, {
      name: 'all metrics',
      indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant) }),
    })
    informer.subscribe({}, { name: 'view' })
    informer.reconcile(async () => {}, { name: 'ledger' })
    await informer.start().synced()
    await clock.advance(1_500)
    const absent: string[] = []
    for (const { name } of METRICS) if ((await points(name, informer.name)).length === 0) absent.push(name)
    expect(absent).toEqual(['listwatch.view.evaluations', 'listwatch.lag'])
    expect(await points('listwatch.proof.age', informer.name)).toMatchObject([
      { attributes: { 'listwatch.informer': informer.name, 'listwatch.source': 'memory' }, value: 1.5 },
    ])
    expect(await points('listwatch.controller.runs', informer.name)).toMatchObject([
      { attributes: { 'listwatch.controller': 'ledger', 'listwatch.result': 'success' }, value: 2 },
      { attributes: { 'listwatch.controller': 'ledger', 'listwatch.result': 'failure' }, value: 0 },
    ])
  })

  test('[O10] exports each usual reason of relists as 0 before the first relist', async () => {
    const { points } = instrumented()
    const { clock, informer } = mirrorOf(orders, { name: 'relists' })
    const relists = async (): Promise<Readonly<Record<string, number>>> => {
      const all = await points('listwatch.relists', informer.name)
      return Object.fromEntries(all.map(({ attributes, value }) => [String(attributes['listwatch.reason']), value]))
    }
    const none = Object.fromEntries(RELIST_REASONS.map((reason) => [reason, 0]))
    expect(await relists()).toEqual(none)
    await informer.start().synced()
    const listed = informer.relist()
    await clock.advance(5_000)
    await listed
    expect(await relists()).toEqual({ ...none, requested: 1 })
  })

  test('records histograms of writes, batches, handlers and runs', async () => {
    const { points } = instrumented()
    const source = listed([put('a', 1), put('b', 1)], '1')
    const { clock, informer } = informerOf<number, object, typeof source>(source, { name: 'histograms' })
    // A handler may return a promise for some changes only.
    informer.subscribe(
      { add: ({ key }) => (key === 'a' ? undefined : clock.sleep(40)), update: () => {} },
      { name: 'view' },
    )
    informer.reconcile(() => clock.sleep(70).then(() => Promise.reject(new Error('no'))), { name: 'ledger' })
    await running({ clock, informer })
    source.watches[0]?.send({ events: [put('a', 2), put('c', 2)], version: '2', committedAt: clock.now() - 250 })
    await clock.advance(100)
    const of = (name: string): Promise<readonly DataPoint<Histogram>[]> => points<Histogram>(name, informer.name)
    expect((await of('listwatch.apply.duration')).map(({ value }) => value.count)).toEqual([2])
    expect((await of('listwatch.batch.size'))[0]?.value).toMatchObject({ count: 2, sum: 2 })
    expect((await of('listwatch.batch.lag'))[0]?.value).toMatchObject({ count: 1, sum: 0.25 })
    const [handlers] = await of('listwatch.handler.duration')
    expect(handlers?.value).toMatchObject({ count: 2, sum: 0.08 })
    expect(handlers?.attributes).toEqual({
      'listwatch.informer': informer.name,
      'listwatch.subscription': 'view',
      'listwatch.type': 'add',
      'listwatch.result': 'success',
    })
    const [runs] = await of('listwatch.reconcile.duration')
    expect(runs?.value).toMatchObject({ count: 1, sum: 0.07 })
    expect(runs?.attributes).toMatchObject({ 'listwatch.controller': 'ledger', 'listwatch.result': 'failure' })
  })

  test('creates a span for each list, watch and commit, without a parent', async () => {
    const { spans } = instrumented()
    const { clock, source, informer } = informerOf(
      scripted<number>({ onList: (list, nth) => list.answer([put('a', nth)], `${nth}`) }),
      { name: 'spans' },
    )
    const tracer = new BasicTracerProvider().getTracer('the program')
    await context.with(trace.setSpan(context.active(), tracer.startSpan('a request')), () => informer.start().synced())
    await clock.advance(0)
    source.watches[0]?.batch([put('a', 5)], '2')
    await clock.advance(0)
    source.watches[0]?.fail(new SourceError('the history is gone', { code: 'VERSION_EXPIRED' }))
    await clock.advance(5_000)
    await informer.stop()
    const finished = spans(informer.name)
    const names = finished.map(({ name }) => name.replace('listwatch ', ''))
    expect(names).toEqual(['apply', 'list', 'apply', 'watch', 'apply', 'list', 'watch'])
    expect(finished.map(({ parentSpanContext }) => parentSpanContext)).toEqual(finished.map(() => undefined))
    const [, list, commit, watch] = finished
    expect(list?.status.code).toBe(SpanStatusCode.UNSET)
    expect(commit?.attributes).toMatchObject({ 'listwatch.changes': 1, 'listwatch.version': '2' })
    expect(watch?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'the history is gone' })
    expect(watch?.events.map(({ name }) => name)).toEqual(['live'])
  })

  test('creates the spans of sources that have one name under their names in the set', async () => {
    const { spans } = instrumented()
    const of = (key: string) => scripted<number>({ onList: (list) => list.answer([put(key, 1)], '1') })
    const { informer } = informerOf(sourceSet({ a: of('a'), b: of('b') }), { name: 'twins' })
    await informer.start().synced()
    await informer.stop()
    const lists = spans('twins').filter(({ name }) => name === 'listwatch list')
    expect(lists.map(({ attributes }) => attributes['listwatch.source'])).toEqual(['a', 'b'])
  })

  test('creates a span for each run, which is active in its function and links to the commit that caused it', async () => {
    const { spans } = instrumented()
    const { clock, source, informer } = mirrorOf(orders, { name: 'runs' })
    const active: (string | undefined)[] = []
    const run = async (key: string): Promise<void> => {
      await clock.sleep(10)
      active.push(trace.getActiveSpan()?.spanContext().spanId)
      if (key === 'c') throw new Error('not today')
    }
    informer.reconcile(run, { name: 'ledger' })
    await informer.start().synced()
    await clock.advance(100)
    source.put('c', order(3))
    await clock.advance(20)
    const finished = spans(informer.name)
    const runs = finished.filter(({ name }) => name === 'listwatch reconcile')
    expect(runs.map(({ attributes }) => [attributes['listwatch.key'], attributes['listwatch.attempt']])).toEqual([
      ['a', 1],
      ['b', 1],
      ['c', 1],
    ])
    expect(active).toEqual(runs.map((each) => each.spanContext().spanId))
    expect(runs[2]?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'not today' })
    const [list, commit] = finished.filter(({ name }) => name === 'listwatch apply')
    expect([list, commit].map((each) => each?.attributes['listwatch.origin'])).toEqual(['initial', 'watch'])
    const causes = [list, list, commit].map((each) => [each?.spanContext().spanId])
    expect(runs.map(({ links }) => links.map((link) => link.context.spanId))).toEqual(causes)
  })

  describe('of commits that were just made', () => {
    const commit = (informer: string, nth: number): void => {
      const message = { informer, source: 'orders' }
      diagnostics.channel('listwatch:apply').publish(message)
      const position = { version: `${nth}`, position: `${nth}`, lagMs: 5 }
      diagnostics.channel('listwatch:batch').publish({ ...message, ...position, origin: 'watch', changes: 1 })
    }
    const applied = (spans: readonly { readonly name: string }[]): number =>
      spans.filter(({ name }) => name === 'listwatch apply').length

    test('creates the spans together, soon, or when there are 256, or at the end of the instrumentation', async () => {
      const { end, spans } = instrumented()
      commit('soon', 1)
      await new Promise((resolve) => setImmediate(resolve))
      commit('soon', 2)
      expect(applied(spans('soon'))).toBe(0)
      await expect.poll(() => applied(spans('soon'))).toBe(2)
      for (let nth = 0; nth < 256; nth++) commit('soon', nth)
      expect(applied(spans('soon'))).toBe(258)
      commit('soon', 256)
      end()
      expect(applied(spans('soon'))).toBe(259)
    })

    test('a reading of the metrics includes them', async () => {
      const { points } = instrumented()
      commit('read', 1)
      const [sizes] = await points<Histogram>('listwatch.batch.size', 'read')
      expect(sizes?.value).toMatchObject({ count: 1, sum: 1 })
      const [lags] = await points<Histogram>('listwatch.batch.lag', 'read')
      expect(lags?.value).toMatchObject({ count: 1, sum: 0.005 })
    })

    test('a run links to one of them, and is called by the function that an earlier subscriber has set, within its span', () => {
      const { spans } = instrumented()
      commit('linked', 1)
      const active: boolean[] = []
      const around = <R>(run: () => R): R => {
        active.push(trace.getActiveSpan() !== undefined)
        return run()
      }
      const run = { informer: 'linked', controller: 'ledger', key: 'a', attempt: 1, cause: '1', around }
      diagnostics.channel('listwatch:reconcile:start').publish(run)
      expect([run.around(() => 'done'), active]).toEqual(['done', [true]])
      diagnostics.channel('listwatch:reconcile:end').publish(run)
      const [apply, reconcile] = spans('linked')
      expect(reconcile?.links.map(({ context }) => context.spanId)).toEqual([apply?.spanContext().spanId])
    })
  })

  describe('creates the span of a write', () => {
    const write = async (informer: string, nth: number, ms: number): Promise<void> => {
      const message = { informer, source: 'orders' }
      diagnostics.channel('listwatch:apply').publish(message)
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
      const position = { version: `${nth}`, position: `${nth}` }
      diagnostics.channel('listwatch:batch').publish({ ...message, ...position, origin: 'watch', changes: 1 })
    }
    const run = (informer: string, cause: string): void => {
      const message = { informer, controller: 'ledger', key: 'a', attempt: 1, cause }
      diagnostics.channel('listwatch:reconcile:start').publish(message)
      diagnostics.channel('listwatch:reconcile:end').publish(message)
    }

    test('only if it took 1 ms or a run links to it, by default', async () => {
      const { end, spans } = instrumented({})
      await write('short', 1, 0)
      await write('short', 2, 20)
      await write('short', 3, 0)
      run('short', '3')
      run('short', '3')
      end()
      const finished = spans('short')
      const applied = finished.filter(({ name }) => name === 'listwatch apply')
      expect(applied.map(({ attributes }) => attributes['listwatch.version'])).toEqual(['2', '3'])
      const ids = finished.flatMap(({ links }) => links.map((link) => link.context.spanId))
      expect(ids).toEqual([applied[1]?.spanContext().spanId, applied[1]?.spanContext().spanId])
    })

    test('that took at least minApplyMs', async () => {
      const { end, spans } = instrumented({ minApplyMs: 60_000 })
      await write('shorter', 1, 20)
      end()
      expect(spans('shorter')).toEqual([])
    })
  })

  test.each([
    { options: { minApplyMs: -1 }, message: 'option "minApplyMs" must be a number of at least 0, got -1' },
    {
      options: { tracer: {} },
      message: 'unknown option "tracer"; allowed are meterProvider, tracerProvider, minApplyMs',
    },
  ])('refuses $options', ({ options, message }) => {
    expect(() => instrumentInformers(options)).toThrow(`instrumentInformers: ${message}`)
    expect(diagnostics.hasSubscribers('listwatch:batch')).toBe(false)
  })

  test('has no effect after its end, and leaves no subscriber', async () => {
    const { end, points, spans } = instrumented()
    const { clock, source, informer } = mirrorOf(orders, { name: 'ended' })
    informer.reconcile(async () => {})
    await running({ clock, informer })
    end()
    end()
    const count = spans(informer.name).length
    source.put('a', order(9))
    await clock.advance(0)
    expect(spans(informer.name).filter(({ name }) => name !== 'listwatch watch')).toHaveLength(count - 1)
    expect((await points('listwatch.objects', informer.name)).map(({ value }) => value)).toEqual([2])
    const channels = ['status', 'apply', 'batch', 'handler', 'reconcile:start', 'reconcile:end']
    expect(channels.filter((name) => diagnostics.hasSubscribers(`listwatch:${name}`))).toEqual([])
  })

  test('ends by using, and works with the global providers', () => {
    {
      using _ = instrumentInformers()
      expect(diagnostics.hasSubscribers('listwatch:batch')).toBe(true)
    }
    expect(diagnostics.hasSubscribers('listwatch:batch')).toBe(false)
  })
})

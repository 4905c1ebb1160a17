import { describe, expect, onTestFinished, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { sourceSet } from '../../../src/informer/source-set.js'
import { METRICS_CONTENT_TYPE, metricsText } from '../../../telemetry/prometheus/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, deferred, informerOf, mirrorOf, order } from '../../support/informers.js'
import { MemoryCache } from '../../support/memory-cache.js'
import { type Family, parsePrometheusText } from '../../support/prometheus-text.js'
import { put, scripted } from '../../support/scripted-source.js'
import { textOf } from '../../support/sources.js'

const orders = [
  ['a', order(1, 'acme')],
  ['b', order(2, 'beta')],
  ['c', order(3, 'beta')],
] as const

/** The values of a metric, by its labels other than `informer`. */
function valuesOf(text: string, name: string): ReadonlyMap<string, number> {
  const family: Family | undefined = parsePrometheusText(text).get(name)
  if (family === undefined) throw new Error(`there is no ${name}`)
  return new Map(
    family.samples.map(({ labels: { informer: _, ...labels }, value }) => [Object.values(labels).join(' '), value]),
  )
}

/** The relists of a source before the first one. */
function noRelists(source: string): ReadonlyMap<string, number> {
  const reasons = ['requested', 'audit', 'version_expired', 'epoch_changed', 'stale_list', 'unavailable', 'timeout']
  return new Map([...reasons, 'incomplete', 'released_key'].map((reason) => [`${source} ${reason}`, 0]))
}

describe('metricsText', () => {
  test('is valid text of the format 0.0.4, in which counters end with _total', async () => {
    const { informer } = mirrorOf(orders, { indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant) }) })
    informer.subscribe({}, { name: 'view' })
    informer.reconcile(async () => {}, { name: 'ledger' })
    await informer.start().synced()
    const families = parsePrometheusText(metricsText([informer]))
    expect(families.size).toBeGreaterThan(20)
    for (const [name, { type, help }] of families) {
      expect(name).toMatch(/^listwatch_[a-z_]+$/)
      expect(name.endsWith('_total'), name).toBe(type === 'counter')
      expect(help).toMatch(/^[A-Z0-9].*[^.]\.$/)
    }
    expect(METRICS_CONTENT_TYPE).toBe('text/plain; version=0.0.4; charset=utf-8')
  })

  test('without informers is empty', () => {
    expect(metricsText([])).toBe('')
  })

  test('has objects, invalid objects and the values of equal indexes', async () => {
    const { informer } = mirrorOf(orders, {
      name: 'sizes',
      indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant), total: ix.ordered((o) => o.total) }),
      transform: (o) => {
        if (o.total === 3) throw new Error('too large')
        return o
      },
    })
    const before = metricsText([informer])
    expect(before).toContain('listwatch_synced{informer="sizes"} 0\n')
    await informer.start().synced()
    const text = metricsText([informer])
    expect(text).toContain('listwatch_synced{informer="sizes"} 1\n')
    expect(text).toContain('listwatch_objects{informer="sizes"} 2\n')
    expect(text).toContain('listwatch_invalid_objects{informer="sizes"} 1\n')
    expect(valuesOf(text, 'listwatch_index_values')).toEqual(new Map([['tenant', 2]]))
  })

  test('has one gauge per state, ages in seconds, and relists by reason', async () => {
    const { clock, source, informer, errors } = informerOf(
      scripted<number>({ onList: (list, nth) => list.answer([put('a', nth)], `${nth}`) }),
    )
    informer.start()
    await clock.advance(2_500)
    let text = metricsText([informer])
    expect(valuesOf(text, 'listwatch_state')).toEqual(
      new Map(
        [
          'idle',
          'restoring',
          'stale',
          'listing',
          'connecting',
          'live',
          'backing-off',
          'relisting',
          'failed',
          'stopped',
        ].map((state) => [`scripted ${state}`, Number(state === 'connecting')]),
      ),
    )
    expect(valuesOf(text, 'listwatch_contact_age_seconds')).toEqual(new Map([['scripted', 2.5]]))
    expect(valuesOf(text, 'listwatch_proof_age_seconds')).toEqual(new Map([['scripted', 2.5]]))
    source.watches[0]?.fail(Object.assign(new Error('gone'), { code: 'not known' }))
    await clock.advance(1_000)
    source.watches[1]?.fail(new SourceError('gone', { code: 'VERSION_EXPIRED' }))
    await clock.advance(5_000)
    void informer.relist()
    await clock.advance(30_000)
    text = metricsText([informer])
    expect(valuesOf(text, 'listwatch_relists_total')).toEqual(
      new Map([...noRelists('scripted'), ['scripted version_expired', 1], ['scripted requested', 1]]),
    )
    expect(valuesOf(text, 'listwatch_reconnects_total')).toEqual(new Map([['scripted', informer.status.reconnects]]))
    expect(informer.status).toMatchObject({ relists: 2 })
    expect(errors.length).toBeGreaterThan(1)
  })

  test('counts batches and changes, and has the lag', async () => {
    const { clock, source, informer } = informerOf(
      scripted<number>({ onList: (list) => list.answer([put('a', 1), put('b', 1)], '1') }),
    )
    informer.start()
    await clock.advance(0)
    source.watches[0]?.send({ events: [put('a', 2), put('b', 2)], version: '2', committedAt: clock.now() - 250 })
    source.watches[0]?.send({ events: [], version: '3' })
    await clock.advance(0)
    const text = metricsText([informer])
    expect(valuesOf(text, 'listwatch_batches_total')).toEqual(new Map([['scripted', 3]]))
    expect(valuesOf(text, 'listwatch_changes_total')).toEqual(new Map([['scripted', 2]]))
    expect(valuesOf(text, 'listwatch_lag_seconds')).toEqual(new Map([['scripted', 0.25]]))
  })

  test('[O10] has each usual reason of relists as 0 before the first relist, and other reasons after theirs', async () => {
    let isRefused = false
    const { clock, informer } = informerOf(
      scripted<number>({
        onList(list, nth) {
          if (isRefused) list.fail(new SourceError('no', { code: 'UNAUTHORIZED' }))
          else list.answer([put('a', nth)], `${nth}`)
        },
      }),
    )
    expect(valuesOf(metricsText([informer]), 'listwatch_relists_total')).toEqual(noRelists('scripted'))
    informer.start()
    await clock.advance(0)
    expect(valuesOf(metricsText([informer]), 'listwatch_relists_total')).toEqual(noRelists('scripted'))
    isRefused = true
    void informer.relist().catch(() => {})
    await clock.advance(5_000)
    const values = valuesOf(metricsText([informer]), 'listwatch_relists_total')
    expect(values.get('scripted requested')).toBe(1)
    expect(values.get('scripted unauthorized')).toBeGreaterThan(0)
    expect(values.size).toBe(noRelists('scripted').size + 1)
  })

  test('has as many lines as docs/metrics.md says', async () => {
    const sentence = /informer of one source has (\d+) lines, .* source of it has (\d+) lines/.exec(
      textOf('docs/metrics.md'),
    )
    const linesOf = async (...names: readonly string[]): Promise<number> => {
      const clock = new VirtualClock()
      const source = sourceSet(Object.fromEntries(names.map((name) => [name, memorySource<number>()])))
      const informer = createInformer<number, object>({ source, clock })
      onTestFinished(() => assertCleanStop(informer, clock))
      await informer.start().synced()
      return metricsText([informer]).trimEnd().split('\n').length
    }
    const one = await linesOf('eu')
    expect([one, (await linesOf('eu', 'us')) - one]).toEqual(sentence?.slice(1).map(Number))
  })

  test('counts a relist during a restore as requested', async () => {
    const cache = new MemoryCache()
    const source = memorySource<number>({ entries: [['a', 1]] })
    const first = informerOf<number, object, typeof source>(source, { cache })
    await first.informer.start().synced()
    await assertCleanStop(first.informer, first.clock)
    cache.serveStale = true
    const gate = deferred()
    cache.onPage = () => gate.promise
    const { clock, informer } = informerOf<number, object, typeof source>(source, { cache })
    informer.start()
    await clock.advance(0)
    const listed = informer.relist()
    gate.resolve()
    await clock.advance(5_000)
    await listed
    const values = valuesOf(metricsText([informer]), 'listwatch_relists_total')
    expect(values).toEqual(new Map([...noRelists('memory'), ['memory requested', 1]]))
  })

  test('has the drift that an audit found, and audits by result', async () => {
    const memory = memorySource<number>({ entries: [['a', 1]] })
    const deaf = {
      name: 'deaf',
      list: memory.list.bind(memory),
      hasReached: memory.hasReached.bind(memory),
      async *watch(context: Parameters<typeof memory.watch>[0]) {
        for await (const batch of memory.watch(context)) yield { ...batch, events: [] }
      },
    }
    const clock = new VirtualClock()
    const informer = createInformer<number, object>({ source: deaf, clock, audit: { periodMs: 60_000 } })
    informer.on('error', () => {})
    onTestFinished(() => assertCleanStop(informer, clock))
    await informer.start().synced()
    await clock.advance(70_000)
    expect(valuesOf(metricsText([informer]), 'listwatch_audit_drift')).toEqual(new Map([['deaf', 0]]))
    memory.put('a', 2)
    memory.put('b', 2)
    for (let at = 0; (informer.status.proof?.foundDrift ?? 0) === 0 && at < 70; at++) await clock.advance(1_000)
    const text = metricsText([informer])
    expect(valuesOf(text, 'listwatch_audit_drift')).toEqual(new Map([['deaf', 2]]))
    expect(valuesOf(text, 'listwatch_audits_total').get('deaf drift')).toBe(1)
    expect(valuesOf(text, 'listwatch_audits_total').get('deaf equal')).toBeGreaterThan(0)
  })

  test('has the queue, the longest running handler and the failures of each subscription', async () => {
    const { clock, informer } = mirrorOf(orders)
    const stuck = { add: () => new Promise<void>(() => {}) }
    informer.subscribe(stuck, { name: 'stuck' })
    informer.subscribe({ add: () => Promise.reject(new Error('no')) }, { name: 'failing' })
    informer.changes()
    await informer.start().synced()
    await clock.advance(3_000)
    const text = metricsText([informer])
    const of = (name: string): unknown => Object.fromEntries(valuesOf(text, `listwatch_subscription_${name}`))
    expect(of('open')).toEqual({ 'stuck subscription': 1, 'failing subscription': 1, 'unnamed stream': 1 })
    expect(of('queue_keys')).toEqual({ 'stuck subscription': 2, 'failing subscription': 0, 'unnamed stream': 3 })
    expect(of('queue_oldest_age_seconds')).toMatchObject({ 'failing subscription': 0, 'unnamed stream': 3 })
    expect(of('running_age_seconds')).toEqual({
      'stuck subscription': 3,
      'failing subscription': 0,
      'unnamed stream': 0,
    })
    expect(of('failures_total')).toEqual({ 'stuck subscription': 0, 'failing subscription': 3, 'unnamed stream': 0 })
  })

  test('counts handler calls that take 10 s, and runs that take 60 s, once each', async () => {
    const { clock, source, informer } = mirrorOf(orders)
    const work = (): Promise<void> => clock.sleep(90_000)
    informer.subscribe({ update: work }, { name: 'view' })
    informer.reconcile((key) => (key === 'a' ? work() : Promise.resolve()), { name: 'ledger' })
    await informer.start().synced()
    const counts = (): readonly (number | undefined)[] => {
      const text = metricsText([informer])
      return [
        valuesOf(text, 'listwatch_subscription_slow_total').get('view subscription'),
        valuesOf(text, 'listwatch_controller_slow_total').get('ledger'),
      ]
    }
    source.put('a', order(9))
    await clock.advance(9_000)
    expect(counts()).toEqual([0, 0])
    await clock.advance(12_000)
    expect(counts()).toEqual([1, 0])
    await clock.advance(60_000)
    expect(counts()).toEqual([1, 1])
    await clock.advance(200_000)
    // The controller runs a key again that has changed during its run.
    expect(counts()).toEqual([1, 2])
  })

  test('has runs by result, retries, failing keys and the queue of each controller', async () => {
    const { clock, informer } = mirrorOf(orders)
    let isFailing = true
    const run = async (key: string): Promise<void> => {
      if (key === 'a' && isFailing) throw new Error('no')
    }
    informer.reconcile(run, { name: 'ledger' })
    await informer.start().synced()
    await clock.advance(0)
    const of = (name: string): ReadonlyMap<string, number> =>
      valuesOf(metricsText([informer]), `listwatch_controller_${name}`)
    expect(of('runs_total')).toEqual(
      new Map([
        ['ledger success', 2],
        ['ledger failure', 1],
      ]),
    )
    expect([of('failing_keys').get('ledger'), of('queue_keys').get('ledger')]).toEqual([1, 1])
    isFailing = false
    await clock.advance(1_000)
    expect([of('retries_total').get('ledger'), of('failing_keys').get('ledger')]).toEqual([1, 0])
    expect(of('runs_total').get('ledger success')).toBe(3)
  })

  test('keeps the counters of closed subscriptions, so that they never decrease', async () => {
    const { clock, informer } = mirrorOf(orders)
    const first = informer.subscribe({ add: () => Promise.reject(new Error('no')) }, { name: 'view' })
    await informer.start().synced()
    await clock.advance(0)
    await first.close()
    const closed = metricsText([informer])
    expect(valuesOf(closed, 'listwatch_subscription_failures_total').get('view subscription')).toBe(3)
    expect(valuesOf(closed, 'listwatch_subscription_open').get('view subscription')).toBe(0)
    informer.subscribe({ add: () => Promise.reject(new Error('no')) }, { name: 'view' })
    await clock.advance(0)
    expect(valuesOf(metricsText([informer]), 'listwatch_subscription_failures_total').get('view subscription')).toBe(6)
  })

  test('labels each source of a set', async () => {
    const clock = new VirtualClock()
    const sources = sourceSet({ eu: memorySource<number>({ entries: [['a', 1]] }), us: memorySource<number>() })
    const informer = createInformer<number, object>({ source: sources, clock, name: 'regions' })
    onTestFinished(() => assertCleanStop(informer, clock))
    await informer.start().synced()
    expect([...valuesOf(metricsText([informer]), 'listwatch_batches_total').keys()]).toEqual(['eu', 'us'])
  })

  test('escapes label values', () => {
    const name = 'a "quoted"\\name\nof two lines{}'
    const { informer } = mirrorOf(orders, { name })
    const [sample] = parsePrometheusText(metricsText([informer])).get('listwatch_objects')?.samples ?? []
    expect(sample?.labels).toEqual({ informer: name })
    expect(metricsText([informer])).toContain(String.raw`{informer="a \"quoted\"\\name\nof two lines{}"}`)
  })

  test('has no series twice for informers of one name, and for an informer that is passed twice', () => {
    const [one, two] = [mirrorOf(orders, { name: 'same' }).informer, mirrorOf(orders, { name: 'same' }).informer]
    const samples = parsePrometheusText(metricsText([one, two, one])).get('listwatch_objects')?.samples
    expect(samples?.map(({ labels }) => labels['informer'])).toEqual(['same', 'same#2'])
  })

  test('[O8] of a stopped informer and its replacement, only the newer is exported, in any order', async () => {
    const old = mirrorOf(orders, { name: 'replaced' }).informer
    old.reconcile(async () => {}, { name: 'ledger' })
    await old.start().synced()
    await old.stop()
    const between = mirrorOf(orders, { name: 'replaced' }).informer
    await between.stop()
    const { informer } = mirrorOf(orders.slice(0, 1), { name: 'replaced' })
    await informer.start().synced()
    const other = mirrorOf(orders, { name: 'other' }).informer
    expect(metricsText([old, informer, other, between])).toBe(metricsText([informer, other]))
    expect(metricsText([between, old])).toBe(metricsText([between]))
  })

  test('[O8] of a draining informer and its replacement, only the replacement is exported', async () => {
    const { clock, informer: old } = mirrorOf(orders, { name: 'handed over' })
    old.subscribe({ add: () => clock.sleep(5_000) }, { name: 'view' })
    await old.start().synced()
    const stopped = old.stop({ drainMs: 60_000 })
    const { informer } = mirrorOf(orders, { name: 'handed over' })
    expect(metricsText([informer, old])).toBe(metricsText([informer]))
    for (const _ of orders) await clock.advance(5_000)
    await stopped
  })

  test('a subscription with the name "unnamed" shares the series of those without a name', () => {
    const { informer } = mirrorOf(orders)
    informer.subscribe({})
    informer.subscribe({}, { name: 'unnamed' })
    expect(valuesOf(metricsText([informer]), 'listwatch_subscription_open').get('unnamed subscription')).toBe(2)
  })

  test('never has a key', async () => {
    const { clock, informer } = mirrorOf([['the-secret-key', order(1)]])
    informer.reconcile(() => Promise.reject(new Error('no')))
    informer.subscribe({ add: () => new Promise<void>(() => {}) }, { key: 'the-secret-key' })
    await informer.start().synced()
    await clock.advance(100)
    expect(metricsText([informer])).not.toContain('the-secret-key')
  })

  test.each([[[{ name: 'x', inspect: () => {} }]], [undefined], [5]])('rejects %j with a TypeError', (informers) => {
    expect(() => metricsText(informers as never)).toThrow(/^metricsText: /)
  })

  test('an informer of another copy of the package is refused with the command that finds the copies', () => {
    const other = { name: 'orders', subscribe: () => {}, inspect: () => {} }
    expect(() => metricsText([other] as never)).toThrow('may be of another copy of the package: npm ls listwatch')
  })
})

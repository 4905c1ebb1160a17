import { describe, expect, test } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { SourceError } from '../../../src/contract/errors.js'
import { METRICS_CONTENT_TYPE, metricsText } from '../../../telemetry/prometheus/index.js'
import { informerOf, mirrorOf, order } from '../../support/informers.js'
import { LossyVersioned, synced, three } from '../../support/lossy-source.js'
import { type Family, parsePrometheusText, RELIST_REASONS } from '../../support/prometheus-text.js'
import { listed, running, setOf } from '../../support/running.js'
import { put, scripted } from '../../support/scripted-source.js'
import { textOf } from '../../support/sources.js'

const orders = Object.entries({ a: order(1, 'acme'), b: order(2, 'beta'), c: order(3, 'beta') })

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
  return new Map(RELIST_REASONS.map((reason) => [`${source} ${reason}`, 0]))
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

  test('has objects, invalid objects and the values of equal indexes', async () => {
    const { informer } = mirrorOf(orders, {
      name: 'sizes',
      indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant), total: ix.ordered((o) => o.total) }),
      transform: (o) => {
        if (o.total === 3) throw new Error('too large')
        return o
      },
    })
    expect(metricsText([informer])).toContain('listwatch_synced{informer="sizes"} 0\n')
    await informer.start().synced()
    const text = metricsText([informer])
    expect(text).toContain('listwatch_synced{informer="sizes"} 1\n')
    expect(text).toContain('listwatch_objects{informer="sizes"} 2\n')
    expect(text).toContain('listwatch_invalid_objects{informer="sizes"} 1\n')
    expect(valuesOf(text, 'listwatch_index_values')).toEqual(new Map([['tenant', 2]]))
  })

  test('[O10] has one gauge per state, ages in seconds, and relists by reason: usual reasons before the first one', async () => {
    const source = scripted<number>({
      onList: (list, nth) =>
        nth === 3 ? list.fail(new SourceError('no', { code: 'UNAUTHORIZED' })) : list.answer([put('a', nth)], `${nth}`),
    })
    const { clock, informer, errors } = informerOf(source)
    const of = (name: string) => valuesOf(metricsText([informer]), `listwatch_${name}`)
    expect(of('relists_total')).toEqual(noRelists('scripted'))
    informer.start()
    await clock.advance(2_500)
    const states = 'idle restoring stale listing connecting live backing-off relisting failed stopped'.split(' ')
    expect(of('state')).toEqual(new Map(states.map((state) => [`scripted ${state}`, Number(state === 'connecting')])))
    expect(of('contact_age_seconds')).toEqual(new Map([['scripted', 2.5]]))
    expect(of('proof_age_seconds')).toEqual(new Map([['scripted', 2.5]]))
    expect(of('relists_total')).toEqual(noRelists('scripted'))
    source.watches[0]?.fail(Object.assign(new Error('gone'), { code: 'not known' }))
    await clock.advance(1_000)
    source.watches[1]?.fail(new SourceError('gone', { code: 'VERSION_EXPIRED' }))
    await clock.advance(5_000)
    void informer.relist()
    await clock.advance(30_000)
    const reasons = ['version_expired', 'requested', 'unauthorized'].map((reason) => [`scripted ${reason}`, 1] as const)
    expect(of('relists_total')).toEqual(new Map([...noRelists('scripted'), ...reasons]))
    expect(of('reconnects_total')).toEqual(new Map([['scripted', informer.status.reconnects]]))
    expect(errors.length).toBeGreaterThan(1)
  })

  test('counts batches and changes, and has the lag', async () => {
    const { clock, source, informer } = await running(informerOf(listed<number>([put('a', 1), put('b', 1)], '1')))
    source.watches[0]?.send({ events: [put('a', 2), put('b', 2)], version: '2', committedAt: clock.now() - 250 })
    source.watches[0]?.send({ events: [], version: '3' })
    await clock.advance(0)
    const text = metricsText([informer])
    expect(valuesOf(text, 'listwatch_batches_total')).toEqual(new Map([['scripted', 3]]))
    expect(valuesOf(text, 'listwatch_changes_total')).toEqual(new Map([['scripted', 2]]))
    expect(valuesOf(text, 'listwatch_lag_seconds')).toEqual(new Map([['scripted', 0.25]]))
  })

  test('has as many lines as docs/reference/metrics.md says', async () => {
    const sentence = /informer of one source has (\d+) lines, .* source of it has (\d+) lines/.exec(
      textOf('docs/reference/metrics.md'),
    )
    const linesOf = async (...names: readonly string[]): Promise<number> => {
      const { informer } = await running(setOf(Object.fromEntries(names.map((name) => [name, memorySource<number>()]))))
      return metricsText([informer]).trimEnd().split('\n').length
    }
    const one = await linesOf('eu')
    expect([one, (await linesOf('eu', 'us')) - one]).toEqual(sentence?.slice(1).map(Number))
  })

  test('has the drift that an audit found, and audits by result', async () => {
    const { clock, source, informer } = await synced(new LossyVersioned(three), { audit: { periodMs: 60_000 } })
    const of = (name: string) => valuesOf(metricsText([informer]), `listwatch_${name}`)
    await clock.advance(70_000)
    expect(of('audit_drift')).toEqual(new Map([['lossy', 0]]))
    for (const key of ['a', 'd']) {
      source.lost.add(key)
      source.memory.put(key, { n: 9 })
    }
    for (let at = 0; (informer.status.proof?.foundDrift ?? 0) === 0 && at < 70; at++) await clock.advance(1_000)
    expect([of('audit_drift'), of('audits_total').get('lossy drift')]).toEqual([new Map([['lossy', 2]]), 1])
    expect(of('audits_total').get('lossy equal')).toBeGreaterThan(0)
  })

  test('has the queue, the longest running handler and the failures of each subscription, which never decrease', async () => {
    const { clock, informer } = mirrorOf(orders)
    informer.subscribe({ add: () => new Promise<void>(() => {}) }, { name: 'stuck' })
    const fail = { add: () => Promise.reject(new Error('no')) }
    const failing = informer.subscribe(fail, { name: 'failing' })
    informer.changes()
    await running({ clock, informer })
    await clock.advance(3_000)
    const of = (name: string) => Object.fromEntries(valuesOf(metricsText([informer]), `listwatch_subscription_${name}`))
    const values = (stuck: number, failing: number, unnamed: number) => ({
      'stuck subscription': stuck,
      'failing subscription': failing,
      'unnamed stream': unnamed,
    })
    expect([of('open'), of('queue_keys')]).toEqual([values(1, 1, 1), values(2, 0, 3)])
    expect(of('queue_oldest_age_seconds')).toMatchObject({ 'failing subscription': 0, 'unnamed stream': 3 })
    expect([of('running_age_seconds'), of('failures_total')]).toEqual([values(3, 0, 0), values(0, 3, 0)])
    await failing.close()
    expect([of('open'), of('failures_total')]).toEqual([values(1, 0, 1), values(0, 3, 0)])
    informer.subscribe(fail, { name: 'failing' })
    await clock.advance(0)
    expect(of('failures_total')).toEqual(values(0, 6, 0))
  })

  test('counts handler calls that take 10 s, and runs that take 60 s, once each', async () => {
    const { clock, source, informer } = mirrorOf(orders)
    const work = (): Promise<void> => clock.sleep(90_000)
    informer.subscribe({ update: work }, { name: 'view' })
    informer.reconcile((key) => (key === 'a' ? work() : Promise.resolve()), { name: 'ledger' })
    await informer.start().synced()
    source.put('a', order(9))
    // The controller runs a key again that has changed during its run.
    for (const [ms, calls, runs] of [
      [9_000, 0, 0],
      [12_000, 1, 0],
      [60_000, 1, 1],
      [200_000, 1, 2],
    ] as const) {
      await clock.advance(ms)
      const text = metricsText([informer])
      expect(valuesOf(text, 'listwatch_subscription_slow_total').get('view subscription')).toBe(calls)
      expect(valuesOf(text, 'listwatch_controller_slow_total').get('ledger')).toBe(runs)
    }
  })

  test('has runs by result, retries, failing keys and the queue of each controller', async () => {
    const { clock, informer } = mirrorOf(orders)
    let isFailing = true
    const run = async (key: string): Promise<void> => {
      if (key === 'a' && isFailing) throw new Error('no')
    }
    informer.reconcile(run, { name: 'ledger' })
    await running({ clock, informer })
    const of = (name: string) => Object.fromEntries(valuesOf(metricsText([informer]), `listwatch_controller_${name}`))
    expect(of('runs_total')).toEqual({ 'ledger success': 2, 'ledger failure': 1 })
    expect([of('failing_keys'), of('queue_keys')]).toEqual([{ ledger: 1 }, { ledger: 1 }])
    isFailing = false
    await clock.advance(1_000)
    expect([of('retries_total'), of('failing_keys')]).toEqual([{ ledger: 1 }, { ledger: 0 }])
    expect(of('runs_total')).toEqual({ 'ledger success': 3, 'ledger failure': 1 })
  })

  test('escapes label values, and has no series twice for informers of one name', () => {
    const name = 'a "quoted"\\name\nof two lines{}'
    const [one, two] = [mirrorOf(orders, { name }).informer, mirrorOf(orders, { name }).informer]
    const text = metricsText([one, two, one])
    const samples = parsePrometheusText(text).get('listwatch_objects')?.samples
    expect(samples?.map(({ labels }) => labels)).toEqual([{ informer: name }, { informer: `${name}#2` }])
    expect(text).toContain(String.raw`{informer="a \"quoted\"\\name\nof two lines{}"}`)
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
    expect(metricsText([])).toBe('')
    expect(() => metricsText(informers as never)).toThrow(/^metricsText: /)
  })

  test('an informer of another copy of the package is refused with the command that finds the copies', () => {
    const other = { name: 'orders', subscribe: () => {}, inspect: () => {} }
    expect(() => metricsText([other] as never)).toThrow('may be of another copy of the package: npm ls listwatch')
  })
})

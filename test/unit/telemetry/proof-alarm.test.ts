import { expect, onTestFinished, test } from 'vitest'
import { createInformer, SourceError } from '../../../src/index.js'
import { metricsText } from '../../../telemetry/prometheus/index.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop } from '../../support/informers.js'
import { LossyVersioned } from '../../support/lossy-source.js'
import { parsePrometheusText } from '../../support/prometheus-text.js'

const PERIOD_MS = 10_000
const BOOKMARK_MS = 500

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  '[O2] events that a source loses silently: the age of the proof grows, and the audit alarms within its period (seed %i)',
  async (seed) => {
    const [clock, random] = [new VirtualClock(), new SeededRandom(seed)]
    const source = new LossyVersioned([['a', { n: 1 }]], { heartbeatMs: BOOKMARK_MS })
    const informer = createInformer({ source, clock, random, audit: { periodMs: PERIOD_MS } })
    const alarms: unknown[] = []
    informer.on('error', (error) => alarms.push(error))
    onTestFinished(() => assertCleanStop(informer, clock))
    await informer.start().synced()
    const metric = (name: string): number | undefined =>
      parsePrometheusText(metricsText([informer])).get(`listwatch_${name}`)?.samples[0]?.value
    const ageMs = (): number => clock.now() - (informer.status.proof?.at ?? Number.NaN)
    for (const untilMs = clock.now() + 10 * PERIOD_MS + random.next() * PERIOD_MS; clock.now() < untilMs; ) {
      await clock.advance(100)
      expect(ageMs()).toBeLessThanOrEqual(PERIOD_MS + BOOKMARK_MS)
    }
    expect(alarms).toEqual([])

    source.lost.add('a')
    source.memory.put('a', { n: 2 })
    const lostAt = clock.now()
    let before = ageMs()
    for (; alarms.length === 0; before = ageMs()) {
      await clock.advance(100)
      if (alarms.length > 0) break
      expect(ageMs()).toBe(before + 100)
      expect(metric('proof_age_seconds')).toBeCloseTo(ageMs() / 1_000, 6)
      expect(informer.status.silentMs).toBeLessThanOrEqual(BOOKMARK_MS)
      expect(clock.now() - lostAt).toBeLessThanOrEqual(PERIOD_MS)
    }
    expect(alarms).toEqual([expect.any(SourceError)])
    expect(alarms[0]).toMatchObject({ code: 'PROTOCOL', message: expect.stringContaining('at the key "a"') })
    expect([informer.status.proof?.foundDrift, metric('audit_drift')]).toEqual([1, 1])
    await clock.advance(BOOKMARK_MS)
    expect(informer.get('a')).toEqual({ n: 2 })
  },
)

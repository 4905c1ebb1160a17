import { expect, onTestFinished, test } from 'vitest'
import { SourceError } from '../../../src/contract/errors.js'
import type { ListerWatcher, ListPage, VersionPage, WatchBatch, WatchContext } from '../../../src/contract/source.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import { metricsText } from '../../../telemetry/prometheus/index.js'
import { SeededRandom } from '../../../testing/seeded-random.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop } from '../../support/informers.js'
import { parsePrometheusText } from '../../support/prometheus-text.js'
import { numbered } from '../../support/scripted-source.js'

const PERIOD_MS = 10_000
const BOOKMARK_MS = 500

/** A source that sends a bookmark with the current version twice a second, and no event of a lost write. */
class LosingSource implements ListerWatcher<number> {
  readonly name = 'losing'
  readonly heartbeatMs = 30_000
  readonly hasReached = numbered
  readonly #objects = new Map([['a', { n: 1, version: '1' }]])
  #at = 1

  async *list(): AsyncGenerator<ListPage<number>> {
    const events = Array.from(
      this.#objects,
      ([key, { n, version }]) => ({ type: 'put', key, object: n, version }) as const,
    )
    yield { events, version: String(this.#at) }
  }

  async *versions(): AsyncGenerator<VersionPage> {
    yield { keys: Array.from(this.#objects, ([key, { version }]) => ({ key, version })), version: String(this.#at) }
  }

  async *watch({ signal, clock }: WatchContext): AsyncGenerator<WatchBatch<number>> {
    for (;;) {
      yield { events: [], version: String(this.#at) }
      await clock.sleep(BOOKMARK_MS, signal)
    }
  }

  /** Writes an object without an event. */
  putSilently(key: string, n: number): void {
    this.#objects.set(key, { n, version: String(++this.#at) })
  }
}

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  '[O2] events that a source loses silently: the age of the proof grows, and the audit alarms within its period (seed %i)',
  async (seed) => {
    const [clock, source, random] = [new VirtualClock(), new LosingSource(), new SeededRandom(seed)]
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

    source.putSilently('a', 2)
    const lostAt = clock.now()
    let before = ageMs()
    for (; alarms.length === 0; before = ageMs()) {
      await clock.advance(100)
      if (alarms.length > 0) break
      expect(ageMs()).toBe(before + 100)
      expect(metric('proof_age_seconds')).toBeCloseTo(ageMs() / 1_000, 6)
      expect(informer.status.staleMs).toBeLessThanOrEqual(BOOKMARK_MS)
      expect(clock.now() - lostAt).toBeLessThanOrEqual(PERIOD_MS)
    }
    expect(alarms).toEqual([expect.any(SourceError)])
    expect(alarms[0]).toMatchObject({ code: 'PROTOCOL', message: expect.stringContaining('at the key "a"') })
    expect([informer.status.proof?.foundDrift, metric('audit_drift')]).toEqual([1, 1])
    await clock.advance(BOOKMARK_MS)
    expect(informer.get('a')).toBe(2)
  },
)

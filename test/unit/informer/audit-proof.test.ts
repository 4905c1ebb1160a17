import { describe, expect, onTestFinished, test } from 'vitest'
import type { ListContext, ListPage, VersionPage, WatchBatch, WatchContext } from '../../../src/adapter.js'
import { createInformer, type ListerWatcher, SourceError } from '../../../src/index.js'
import { VirtualClock } from '../../../testing/virtual-clock.js'
import { assertCleanStop, informerOf } from '../../support/informers.js'
import { heard, ordered, running } from '../../support/running.js'
import { numbered, put, scripted } from '../../support/scripted-source.js'

/** A source whose version increases without changes, and whose watch sends a version only with an event. */
class Quiet implements ListerWatcher<number> {
  readonly name = 'quiet'
  readonly hasReached = numbered
  readonly heartbeatMs = 1_000_000
  readonly objects = new Map(Object.entries({ a: { n: 1, version: '1' }, b: { n: 2, version: '2' } }))
  at = 5
  reads = 0
  reading = (): void => {}
  #wake: (() => void) | undefined
  readonly #batches: WatchBatch<number>[] = []
  readonly after: string[] = []

  async *list(_context: ListContext): AsyncGenerator<ListPage<number>> {
    const events = Array.from(
      this.objects,
      ([key, { n, version }]) => ({ type: 'put', key, object: n, version }) as const,
    )
    yield { events, version: String(this.at) }
  }

  async *versions(_context: ListContext): AsyncGenerator<VersionPage> {
    this.reads++
    const keys = Array.from(this.objects, ([key, { version }]) => ({ key, version }))
    const version = String(this.at)
    this.reading()
    yield { keys, version }
  }

  async head(): Promise<string> {
    return String(this.at)
  }

  async *watch({ after, signal, onProgressRequest, requestProof }: WatchContext): AsyncGenerator<WatchBatch<number>> {
    this.after.push(after)
    onProgressRequest(() => requestProof?.())
    yield { events: [], version: after }
    while (!signal.aborted) {
      const batch = this.#batches.shift()
      if (batch !== undefined) yield batch
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
    }
  }

  /** Writes an object. Its event is delivered by the watch if `isDelivered`. */
  put(key: string, n: number, isDelivered = true): void {
    const version = String(++this.at)
    this.objects.set(key, { n, version })
    if (isDelivered) this.#batches.push({ events: [{ type: 'put', key, object: n, version }], version })
    this.#wake?.()
  }
}

async function mirrored(audit: false | undefined) {
  const world = informerOf<number, object, Quiet>(new Quiet(), audit === false ? { audit } : {})
  await world.informer.start().synced()
  await world.clock.advance(10)
  return world
}

describe.each([
  ['with audits', undefined],
  ['without audits', false],
] as const)('a watch that cannot report its position, %s', (_what, audit) => {
  test('[C35] is proven by a comparison that finds no difference: fresh resolves, and the version increases', async () => {
    const { clock, source, informer, errors } = await mirrored(audit)
    source.at = 9
    const fresh = informer.fresh({ timeoutMs: 20_000 })
    await clock.advance(10_000)
    await fresh
    expect([informer.version, source.reads, errors]).toEqual(['9', 1, []])
  })

  test('[C35] is not proven while the event of a changed object is not delivered yet', async () => {
    const { clock, source, informer, errors } = await mirrored(audit)
    source.put('a', 7, false)
    source.at = 9
    let isFresh = false
    void informer.fresh({ timeoutMs: 20_000 }).then(() => (isFresh = true))
    await clock.advance(500)
    expect([isFresh, informer.get('a')]).toEqual([false, 1])
    source.put('a', 8)
    await clock.advance(5_000)
    expect([isFresh, informer.get('a'), errors]).toEqual([true, 8, []])
  })

  test('is not proven by a comparison during which an object was written: the comparison is repeated', async () => {
    const { clock, source, informer } = await mirrored(audit)
    source.at = 9
    source.reading = () => {
      source.reading = () => {}
      source.put('c', 3)
      source.at = 20
    }
    const fresh = informer.fresh({ timeoutMs: 20_000 })
    await clock.advance(10_000)
    await fresh
    expect([source.reads > 0, informer.get('c')]).toEqual([true, 3])
  })
})

test('[C35] a proof during the validation of a large batch is not followed by the earlier state of that batch', async () => {
  const source = scripted<number>({
    hasReached: numbered,
    heartbeatMs: 1_000_000,
    onList: (list, nth) => list.answer([put('a', 1)], nth === 1 ? '1' : '3'),
    onWatch: (watch) => watch.batch([], '1'),
  })
  const { clock, informer } = informerOf(source, { audit: false })
  const added = heard(informer, ({ key }) => key)
  informer.start()
  await clock.advance(10)
  const [watch] = source.watches
  // These keys exist at version 2 only, and the proof reads version 3.
  const temporary = Array.from({ length: 300 }, (_, i) => put(`t${i}`, i))
  watch?.batch(temporary, '2')
  watch?.context.requestProof?.()
  await clock.advance(1_000)
  expect([source.lists.length, informer.version, added]).toEqual([2, '3', ['a']])
  const deletes = temporary.map(({ key }) => ({ type: 'delete', key }) as const)
  watch?.batch(deletes, '3')
  await clock.advance(1_000)
  expect([informer.version, informer.size, added]).toEqual(['3', 1, ['a']])
})

test('[C35] a watch that calls requestProof while the informer waits to reconnect does not block the event loop', async () => {
  const clock = new VirtualClock()
  let draws = 0
  const next = (): number => {
    if (++draws > 1_000) throw new Error('a loop without a delay')
    return 0.5
  }
  const source = ordered<number>([], '5', { onWatch: (watch) => watch.batch([], '5') })
  const informer = createInformer({ source, clock, random: { next } }).on('error', () => {})
  onTestFinished(() => assertCleanStop(informer, clock))
  await running({ clock, informer })
  const [watch] = source.watches
  watch?.fail(new SourceError('broken', { code: 'UNAVAILABLE' }))
  await clock.advance(0)
  expect(informer.status.state).toBe('backing-off')
  watch?.context.requestProof?.()
  await clock.advance(1_000)
  expect([informer.status.state, draws < 100]).toEqual(['live', true])
})

test.each([
  ['finds that nothing has changed', 'none'],
  ['finds a change that the watch has lost', 'lost'],
  ['[C39] takes no change that arrives 10 s late for a lost one', 'late'],
])('[C34] an audit of a watch that cannot report its position %s', async (_what, change) => {
  const { clock, source, informer, errors } = await mirrored(undefined)
  if (change !== 'none') source.put('a', 7, false)
  source.at = 9
  while (source.reads === 0) await clock.advance(1_000)
  await clock.advance(10_000)
  if (change === 'late') source.put('a', 8)
  await clock.advance(90_000)
  expect(errors).toMatchObject(change === 'lost' ? [{ code: 'PROTOCOL', key: 'a' }] : [])
  const shown = { none: [1, '9', 0], lost: [7, '9', 1], late: [8, '10', 0] }[change]
  expect([informer.get('a'), informer.version, informer.status.relists]).toEqual(shown)
  if (change === 'none') expect(source.reads).toBe(1)
})

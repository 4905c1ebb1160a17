import { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, test, vi } from 'vitest'
import { kubernetesWriter } from '../../../../adapters/kubernetes/index.js'
import { seriesRecorder } from '../../../../adapters/kubernetes/write/event-recorder.js'
import { OptionError, SourceError } from '../../../../src/index.js'
import { SeededRandom, VirtualClock } from '../../../../testing/index.js'

interface Sent {
  readonly verb: string
  readonly path: string
  readonly body?: {
    readonly metadata?: { readonly name: string }
    readonly note?: string
    readonly series?: { readonly count: number }
  }
}

const pod = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
})

function recorder(send: (request: Sent) => Promise<unknown> = async () => ({}), seed = 1) {
  const clock = new VirtualClock()
  const sent: Sent[] = []
  const onError = vi.fn()
  const events = seriesRecorder({
    controller: 'example.com/operator',
    instance: 'one',
    clock,
    random: new SeededRandom(seed),
    onError,
    send: async (request) => {
      sent.push(request)
      return await send(request)
    },
  })
  const counts = (): unknown[] => sent.map(({ verb, body }) => [verb, body?.series?.count ?? 1])
  return { clock, sent, onError, events, counts }
}

describe('an event recorder', () => {
  test('writes the first repetition at once, later ones once a minute, and the rest with flush', async () => {
    const { clock, events, counts } = recorder()
    const record = async (ms: number): Promise<void> => {
      events.event(pod('a'), { reason: 'Failed' })
      await clock.advance(ms)
    }
    await record(10)
    await record(10)
    expect(counts()).toEqual(Object.entries({ create: 1, patch: 2 }))
    for (let n = 0; n < 10; n++) await record(10_000)
    expect(counts().slice(2)).toEqual([['patch', 9]])
    await events.flush()
    expect(counts().slice(3)).toEqual([['patch', 12]])
    await events.flush()
    expect(counts()).toHaveLength(4)
  })

  test('creates another event after six minutes without a repetition', async () => {
    const { clock, events, counts } = recorder()
    events.event(pod('a'), { reason: 'Failed' })
    await clock.advance(360_001)
    events.event(pod('a'), { reason: 'Failed' })
    await events.flush()
    expect(counts()).toEqual([
      ['create', 1],
      ['create', 1],
    ])
  })

  test('counts objects, reasons, actions and types apart, and notes together', async () => {
    const { events, counts } = recorder()
    events.event(pod('a'), { reason: 'Failed', note: 'x' })
    events.event(pod('a'), { reason: 'Failed', note: 'y' })
    events.event(pod('b'), { reason: 'Failed' })
    events.event(pod('a'), { reason: 'Failed', type: 'Warning' })
    events.event(pod('a'), { reason: 'Failed', action: 'Pull' })
    await events.flush()
    expect(counts()).toEqual([
      ['create', 1],
      ['patch', 2],
      ['create', 1],
      ['create', 1],
      ['create', 1],
    ])
  })

  test('[K14] drops events while 100 wait, one write is in progress, and the server does not answer', async () => {
    const answers = Promise.withResolvers<void>()
    const { events, onError, sent } = recorder(() => answers.promise)
    for (let n = 0; n < 150; n++) events.event(pod(`p${n}`), { reason: 'Failed' })
    expect(events.dropped).toBe(49)
    expect(onError.mock.lastCall?.[0]).toMatchObject({ code: 'UNAVAILABLE', message: '100 events wait to be written' })
    answers.resolve()
    await events.flush()
    expect(sent).toHaveLength(101)
  })

  test('[K14] keeps the 1 000 series that were repeated last', async () => {
    const { events, counts } = recorder()
    for (let n = 0; n <= 1_000; n++) {
      events.event(pod(`p${n}`), { reason: 'Failed' })
      await events.flush()
    }
    events.event(pod('p1'), { reason: 'Failed' })
    events.event(pod('p0'), { reason: 'Failed' })
    await events.flush()
    expect(counts().slice(1_001)).toEqual(Object.entries({ patch: 2, create: 1 }))
  })

  test('[K14] never throws: a failed write, a wrong object and a callback that throws are counted', async () => {
    const { events, onError } = recorder(async () => {
      throw new SourceError('no', { code: 'UNAVAILABLE' })
    })
    onError.mockImplementation(() => {
      throw new Error('mine')
    })
    events.event(pod('a'), { reason: 'Failed' })
    events.event({ kind: 'Pod' }, { reason: 'Failed' })
    Reflect.apply(events.event, events, [undefined, undefined])
    await events.flush()
    expect(events.dropped).toBe(3)
    expect(onError).toHaveBeenCalledTimes(3)
    events.event(pod('a'), { reason: 'Failed' }) // It is created again.
    await events.flush()
    expect(events.dropped).toBe(4)
  })

  test('[K14] two recorders that record the same moment create events of different names', async () => {
    const [one, two] = [recorder(), recorder(undefined, 2)]
    for (const { events } of [one, two]) {
      events.event(pod('a'), { reason: 'Failed' })
      await events.flush()
    }
    expect(one.sent[0]?.body?.metadata?.name).not.toBe(two.sent[0]?.body?.metadata?.name)
  })

  test.each([`${'a'.repeat(199)}-b`, `${'a'.repeat(199)}.b`, 'system:', '_a', '..a', 'A--'])(
    '[K14] the name of an event of %s is a subdomain',
    async (name) => {
      const { events, sent } = recorder()
      events.event(pod(name), { reason: 'Failed' })
      await events.flush()
      expect(sent[0]?.body?.metadata?.name).toMatch(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
    },
  )

  test('[B31] an event has the time of the wall clock after the machine has slept', async () => {
    const { clock, events, sent } = recorder()
    Object.assign(clock, { wallNow: () => clock.now() + 8 * 3_600_000 })
    for (let n = 0; n < 2; n++) {
      events.event(pod('a'), { reason: 'Failed' })
      await events.flush()
    }
    const time = new Date(clock.now() + 8 * 3_600_000).toISOString().replace('Z', '000Z')
    expect(sent[0]?.body).toMatchObject({ eventTime: time })
    expect(sent[1]?.body?.series).toEqual({ count: 2, lastObservedTime: time })
  })

  test('cuts a long note between two characters', async () => {
    const { events, sent } = recorder()
    events.event(pod('a'), { reason: 'Failed', note: `a${'é'.repeat(1_000)}` })
    await events.flush()
    expect(sent[0]?.body?.note).toBe(`a${'é'.repeat(511)}`)
  })
})

describe('kubernetesWriter', () => {
  const kubeConfig = new KubeConfig()
  const call = (...args: readonly unknown[]): unknown => Reflect.apply(kubernetesWriter, undefined, args)
  const writer = kubernetesWriter({ kubeConfig, fieldManager: 'operator' })

  test.each([
    ['no options', undefined, 'kubernetesWriter: option "kubeConfig" is missing'],
    ['no kubeConfig', { fieldManager: 'a' }, 'kubernetesWriter: option "kubeConfig" is missing'],
    ['no fieldManager', { kubeConfig }, 'kubernetesWriter: option "fieldManager" is missing'],
    ['a long fieldManager', { kubeConfig, fieldManager: 'a'.repeat(129) }, 'must have 1 to 128 characters'],
    ['an unknown option', { kubeConfig, fieldManager: 'a', force: true }, 'unknown option "force"'],
  ])('rejects %s', (_what, options, message) => {
    expect(() => call(options)).toThrow(OptionError)
    expect(() => call(options)).toThrow(message)
  })

  test.each([
    ['apiVersion', { kind: 'Pod', metadata: { name: 'a' } }],
    ['kind', { apiVersion: 'v1', metadata: { name: 'a' } }],
    ['metadata.name', { apiVersion: 'v1', kind: 'Pod' }],
  ])('rejects an object without %s before any request', async (what, object) => {
    await expect(writer.apply(object)).rejects.toThrow(new TypeError(`apply: the object has no ${what}`))
    await expect(writer.applyStatus(object, {})).rejects.toThrow(
      new TypeError(`applyStatus: the object has no ${what}`),
    )
  })

  test('rejects a run of an object without a uid, which a transform has dropped, before any request', async () => {
    const cleanup = vi.fn(async () => {})
    const run = writer.finalizer('example.com/page', { reconcile: async () => {}, cleanup })
    const metadata = { name: 'a', namespace: 'default', finalizers: ['example.com/page'], deletionTimestamp: 'now' }
    const object = { apiVersion: 'v1', kind: 'Pod', metadata }
    const context = { object, lastObject: undefined, gone: undefined, reason: 'changed', attempt: 1 }
    await expect(Reflect.apply(run, undefined, ['default/a', context])).rejects.toThrow(
      new TypeError('finalizer: the object has no metadata.uid'),
    )
    expect(cleanup).not.toHaveBeenCalled()
  })

  test('rejects wrong names and functions of finalizers, and wrong options of recorders', () => {
    const functions = { reconcile: async () => {}, cleanup: async () => {} }
    expect(() => writer.finalizer('page', functions)).toThrow('must be a domain with a path')
    const wrong = (...args: readonly unknown[]) =>
      Reflect.apply(writer.finalizer, writer, ['example.com/page', ...args])
    expect(() => wrong({ reconcile: async () => {} })).toThrow('finalizer: option "cleanup" is missing')
    expect(() => wrong(undefined)).toThrow(OptionError)
    expect(() => writer.eventRecorder({ controller: 'operator' })).toThrow('option "controller" must be a domain')
    expect(() => Reflect.apply(writer.eventRecorder, writer, [])).toThrow('option "controller" is missing')
  })
})

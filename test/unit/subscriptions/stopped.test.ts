import { describe, expect, test } from 'vitest'
import { groupInformers, type Informer, type Subscription } from '../../../src/index.js'
import { mirrorOf } from '../../support/informers.js'

type World = ReturnType<typeof mirrorOf<number, { readonly odd: (value: boolean) => readonly number[] }>>

/** One that has had its first list, and its subscriptions, all stopped. */
async function stopped(): Promise<World & { readonly subscriptions: Record<string, Subscription> }> {
  const world: World = mirrorOf([['a', 1]], { indexes: (ix) => ({ odd: ix.equal((n: number) => n % 2 === 1) }) })
  const { clock, informer } = world
  const subscriptions = {
    subscribe: informer.subscribe({}),
    changes: informer.changes(),
    reconcile: informer.reconcile(async () => {}),
  }
  informer.start()
  await clock.advance(10)
  await Promise.all([informer.synced(), subscriptions.subscribe.synced()])
  await informer.stop()
  return { ...world, subscriptions }
}

const reached = ({ version }: Pick<Informer<number>, 'version'>): string => version ?? ''

/** What each member of an informer does after `stop()`: fails with STOPPED, or what is returned. */
const afterStop: Readonly<Record<keyof Informer<number>, 'STOPPED' | ((informer: World['informer']) => unknown)>> = {
  start: 'STOPPED',
  synced: 'STOPPED',
  subscribe: 'STOPPED',
  changes: 'STOPPED',
  reconcile: 'STOPPED',
  waitFor: 'STOPPED',
  fresh: 'STOPPED',
  relist: 'STOPPED',
  until: 'STOPPED',
  snapshot: 'STOPPED',
  addIndex: 'STOPPED',
  // The store stays readable.
  get: (informer) => expect(informer.get('a')).toBe(1),
  has: (informer) => expect(informer.has('a')).toBe(true),
  entry: (informer) => expect(informer.entry('a')?.object).toBe(1),
  size: ({ size }) => expect(size).toBe(1),
  keys: (informer) => expect([...informer.keys()]).toEqual(['a']),
  entries: (informer) => expect([...informer.entries()]).toEqual([['a', 1]]),
  list: (informer) => expect(informer.list()).toEqual([1]),
  by: ({ by }) => expect(by.odd(true)).toEqual([1]),
  version: (informer) => expect(reached(informer)).not.toBe(''),
  versions: ({ versions }) => expect(versions.size).toBe(1),
  invalid: ({ invalid }) => expect(invalid.size).toBe(0),
  status: ({ status }) => expect(status.state).toBe('stopped'),
  health: (informer) => expect(informer.health()).toMatchObject({ isLive: false, isReady: false }),
  name: ({ name }) => expect(name).toMatch(/^memory/),
  inspect: (informer) => expect(informer.inspect()).toMatchObject({ state: 'stopped', objects: 1 }),
  // What ends something may be called again.
  on: (informer) => expect(informer.on('error', () => {})).toBe(informer),
  off: (informer) => expect(informer.off('error', () => {})).toBe(informer),
  stop: (informer) => expect(informer.stop()).resolves.toBeUndefined(),
  [Symbol.asyncDispose]: (informer) => expect(informer[Symbol.asyncDispose]()).resolves.toBeUndefined(),
}

/** Arguments with which a call succeeds before `stop()`. */
const argumentsOf: Readonly<Record<string, (informer: Informer<number>) => readonly unknown[]>> = {
  subscribe: () => [{}],
  reconcile: () => [async () => {}],
  waitFor: (informer) => [reached(informer)],
  until: () => ['a', () => true],
  addIndex: () => ['late', (ix: { equal(of: (n: number) => number): unknown }) => ix.equal((n) => n)],
}

async function call(target: object, name: string, args: readonly unknown[]): Promise<unknown> {
  try {
    return await Reflect.apply(Reflect.get(target, name) as (...all: readonly unknown[]) => unknown, target, args)
  } catch (error) {
    return error
  }
}

describe('after stop()', () => {
  test.each(Reflect.ownKeys(afterStop))('%s', async (name) => {
    const { informer } = await stopped()
    const expected = afterStop[name as keyof Informer<number>]
    if (expected !== 'STOPPED') {
      await expected(informer)
      return
    }
    const args = argumentsOf[String(name)]?.(informer) ?? []
    expect(await call(informer, String(name), args)).toMatchObject({ name: 'SourceError', code: 'STOPPED' })
  })

  test('[B6] the table has every member of an informer', async () => {
    const { informer } = await stopped()
    const prototype = Object.getPrototypeOf(informer) as object
    // Only groups use these five, and only metrics measure.
    const ofGroups: readonly PropertyKey[] = ['assertStartable', 'limitRelists', 'clock', 'parts', 'dependencies']
    const internal: readonly PropertyKey[] = ['constructor', ...ofGroups, 'measure']
    const members = Reflect.ownKeys(prototype).filter(
      (name) => !internal.includes(name) && (typeof name === 'string' || name === Symbol.asyncDispose),
    )
    expect(new Set(Reflect.ownKeys(afterStop))).toEqual(new Set(members))
  })

  test.each(['subscribe', 'changes', 'reconcile'])('what %s returned', async (kind) => {
    const { informer, subscriptions, clock } = await stopped()
    const subscription = subscriptions[kind] as Subscription
    const failed = { name: 'SourceError', code: 'STOPPED' }
    expect(await call(subscription, 'synced', [])).toMatchObject(failed)
    expect(await call(subscription, 'waitFor', [reached(informer)])).toMatchObject(failed)
    expect(subscription.backlog).toEqual({ keys: 0, oldestMs: 0 })
    await expect(subscription.close()).resolves.toBeUndefined()
    if (kind === 'changes') {
      const next = { value: undefined, done: true }
      expect(await informerOfChanges(subscription).next()).toEqual(next)
    }
    expect(clock.sleeping).toBe(0)
  })

  test('a group: start and synced', async () => {
    await using group = groupInformers([])
    await group.stop()
    expect(await call(group, 'start', [])).toMatchObject({ code: 'STOPPED' })
    expect(await call(group, 'synced', [])).toMatchObject({ code: 'STOPPED' })
  })

  test('a group of stopped informers: synced', async () => {
    const { informer } = await stopped()
    expect(await call(groupInformers([informer]), 'synced', [])).toMatchObject({ code: 'STOPPED' })
  })
})

function informerOfChanges(subscription: Subscription): AsyncIterator<unknown> {
  return (subscription as Subscription & AsyncIterable<unknown>)[Symbol.asyncIterator]()
}

// @vitest-environment happy-dom
import { act, type ReactElement, StrictMode, startTransition, useLayoutEffect, useState } from 'react'
import { renderToString } from 'react-dom/server'
import { describe, expect, test, vi } from 'vitest'
import { useObject, useObjects, useStatus } from '../../../../bindings/react/index.js'
import { type Equal, groupBy, type Informer, SourceError } from '../../../../src/index.js'
import { internalsOf } from '../../../../src/informer/internals.js'
import { mirrorOf, type Order, order } from '../../../support/informers.js'
import { Page } from './render.js'

const twoTenants = Object.entries({ 1: order(1), 2: order(2), 3: order(3, 'birch') })

async function started(entries: Iterable<readonly [string, Order]> = twoTenants, options = {}) {
  const world = mirrorOf(entries, {
    indexes: (ix) => ({
      tenant: ix.equal((o: Order) => o.tenant),
      total: ix.ordered((o: Order) => o.total),
      latest: ix.compound((o: Order) => [o.tenant, o.total]),
    }),
    ...options,
  })
  world.informer.start()
  await world.clock.advance(0)
  const { source, clock, informer } = world
  const settle = (): Promise<void> => act(() => clock.advance(0))
  const loseAccess = async (): Promise<void> => {
    source.fail(new SourceError('no access', { code: 'UNAUTHORIZED' }), 1_000)
    source.disconnect()
    await act(() => clock.advance(5_000))
  }
  const stop = (): Promise<unknown> => act(() => Promise.all([informer.stop(), clock.advance(1_000)]))
  return { ...world, settle, loseAccess, stop }
}

type World = Awaited<ReturnType<typeof started>>

/** A component that records the results of `read`, one for each render. */
function recorder<R>(read: () => R, text: (result: R) => string = String) {
  const results: R[] = []
  const Recorder = (): string => {
    const result = read()
    results.push(result)
    return text(result)
  }
  return { Recorder, results }
}

const totals = (orders: readonly Order[]): string =>
  orders
    .map(({ total }) => total)
    .sort((a, b) => a - b)
    .join()

describe('useObjects', () => {
  test('[U1] renders again for a change of its own value, and not for one of another value', async () => {
    const { informer, source, settle } = await started()
    const { Recorder, results } = recorder(() => useObjects(informer.by.tenant, 'acme'), totals)
    await using page = await Page.with(<Recorder />)
    expect(page.text).toBe('1,2')
    source.put('3', order(30, 'birch'))
    source.put('4', order(4, 'birch'))
    await settle()
    expect(results).toHaveLength(1)
    source.put('1', order(10))
    await settle()
    expect(page.text).toBe('2,10')
    source.put('1', order(10, 'birch'))
    await settle()
    source.delete('2')
    await settle()
    expect([page.text, results.length]).toEqual(['', 4])
  })

  test('[U3] renders once for all changes of a transaction', async () => {
    const { informer, source, settle } = await started()
    const { Recorder, results } = recorder(() => useObjects(informer.by.tenant, 'acme'), totals)
    await using _page = await Page.with(<Recorder />)
    source.transaction((tx) => {
      for (let n = 0; n < 100; n++) tx.put(`new ${n}`, order(n))
      tx.delete('1')
    })
    await settle()
    expect(results.map(({ length }) => length)).toEqual([2, 101])
  })

  test('[U3] renders a view and its input in the same commit', async () => {
    const { informer, source, clock, settle, stop } = await started()
    const counts = groupBy({ index: informer.by.tenant, each: (_, { count }) => count })
    counts.start()
    await settle()
    const { Recorder, results } = recorder(
      () => [useObjects(informer.by.tenant, 'birch').length, useObject(counts, 'birch') ?? 0],
      String,
    )
    await using _page = await Page.with(<Recorder />)
    source.put('4', order(4, 'birch'))
    await settle()
    source.delete('3')
    await settle()
    expect(new Set(results.map(String))).toEqual(new Set(['1,1', '2,2']))
    await act(() => Promise.all([counts.stop(), clock.advance(1_000)]))
    await stop()
  })

  test('[U3] does not render while a large write is in progress, and then once', async () => {
    const slices = { largeWrite: 10, changesPerStep: 10, stepsPerCheck: 1, sliceMs: 0 }
    const { informer, source, clock, settle } = await started(twoTenants, { slices })
    const { Recorder, results } = recorder(() => useObjects(informer.by.tenant, 'acme'), totals)
    await using _page = await Page.with(<Recorder />)
    source.transaction((tx) => {
      for (let n = 0; n < 1_000; n++) tx.put(`new ${n}`, order(n))
    })
    source.put('3', order(30, 'birch'))
    await settle()
    await act(() => clock.advance(100))
    expect(results.map(({ length }) => length)).toEqual([2, 1_002])
  })

  test('[U2] returns the same array after a relist of equal objects, and for a value without objects', async () => {
    const { informer, clock } = await started()
    const read = (): readonly (readonly Order[])[] => [
      useObjects(informer.by.tenant, 'acme'),
      useObjects(informer.by.tenant, 'nobody'),
      useObjects(informer.by.total, { gte: 2 }),
    ]
    const { Recorder, results } = recorder(read)
    await using page = await Page.with(<Recorder />)
    await act(() => Promise.all([informer.relist(), clock.advance(1_000)]))
    await page.show(<Recorder />)
    expect(results).toHaveLength(2)
    for (const [at, objects] of results[0]?.entries() ?? []) expect(results[1]?.[at]).toBe(objects)
  })

  test('returns ranges of ordered and compound indexes, objects of an index that was added later, and all objects', async () => {
    const { informer, source, settle } = await started()
    const parity = await informer.addIndex('parity', (ix) => ix.equal(({ total }) => total % 2))
    const read = (): string =>
      [
        useObjects(informer.by.total, { gte: 2, limit: 1 }),
        useObjects(informer.by.latest, ['acme'], { reverse: true }),
        useObjects(parity, 1).toSorted((a, b) => a.total - b.total),
        useObjects(informer),
      ]
        .map((orders) => orders.map(({ total }) => total).join())
        .join(' ')
    const { Recorder, results } = recorder(read)
    await using page = await Page.with(<Recorder />)
    expect(page.text).toBe('2 2,1 1,3 1,2,3')
    source.put('2', order(5))
    await settle()
    expect([page.text, results.length]).toEqual(['3 5,1 1,3,5 1,5,3', 2])
  })

  test('[U2] returns the objects of changed arguments at once, and keeps its listener for equal ones', async () => {
    const { informer, source, settle } = await started()
    const listens: number[] = []
    function Orders({ tenant }: { tenant: string }): string {
      const ofTenant = useObjects(informer.by.latest, [tenant], { gte: 1 })
      useLayoutEffect(() => void listens.push(ofTenant.length), [ofTenant])
      return totals(ofTenant)
    }
    await using page = await Page.with(<Orders tenant="acme" />)
    await page.show(<Orders tenant="acme" />)
    expect(listens).toEqual([2])
    await page.show(<Orders tenant="birch" />)
    expect(page.text).toBe('3')
    source.put('1', order(10))
    await settle()
    expect(listens).toEqual([2, 1])
    source.put('3', order(30, 'birch'))
    await settle()
    expect([page.text, internalsOf(informer)?.signal?.listenerCount]).toEqual(['30', 1])
  })

  test('reads another informer or another key if that is its new argument, and no object without a key', async () => {
    const [one, other] = [await started(), await started([['9', order(9)]])]
    function Orders({ of, id }: { of: World; id?: string }): string {
      return `${totals(useObjects(of.informer.by.tenant, 'acme'))} ${useObject(of.informer, id)?.total} ${useStatus(of.informer).state}`
    }
    await using page = await Page.with(<Orders of={one} />)
    expect(page.text).toBe('1,2 undefined live')
    await page.show(<Orders of={one} id="2" />)
    expect(page.text).toBe('1,2 2 live')
    await page.show(<Orders of={other} id="9" />)
    expect([page.text, internalsOf(one.informer)?.signal?.listenerCount]).toEqual(['9 9 live', 0])
    other.source.put('9', order(90))
    await other.settle()
    expect(page.text).toBe('90 90 live')
  })

  test('throws a TypeError for something else, such as an index of a snapshot', async () => {
    const { informer } = await started()
    using snapshot = informer.snapshot()
    const message =
      'useObjects: the first argument must be an informer that createInformer returned, or an index of one'
    const { Recorder } = recorder(() => useObjects(snapshot.by.tenant, 'acme'), totals)
    expect(() => renderToString(<Recorder />)).toThrow(new TypeError(message))
    const Wrong = recorder(() => useObjects(undefined as unknown as Equal<Order, string>, 'acme'), totals).Recorder
    expect(() => renderToString(<Wrong />)).toThrow(new TypeError(message))
  })
})

test('[U1] useObject renders again only for changes of its key', async () => {
  const { informer, source, settle } = await started()
  const { Recorder, results } = recorder(() => useObject(informer, '1')?.total)
  await using _page = await Page.with(<Recorder />)
  source.put('2', order(20))
  await settle()
  source.put('1', order(10))
  await settle()
  source.delete('1')
  await settle()
  source.put('1', order(11))
  await settle()
  expect(results).toEqual([1, 10, undefined, 11])
})

test('[U1] useStatus renders again for a change of state, and not for a batch', async () => {
  const { informer, source, settle, loseAccess, stop } = await started()
  const { Recorder, results } = recorder(
    () => useStatus(informer),
    ({ state, lastError }) => `${state} ${lastError?.code}`,
  )
  await using page = await Page.with(<Recorder />)
  expect(page.text).toBe('live undefined')
  source.put('1', order(10))
  await settle()
  expect(results).toHaveLength(1)
  await loseAccess()
  expect(page.text).toBe('failed UNAUTHORIZED')
  await stop()
  expect(page.text).toBe('stopped UNAUTHORIZED')
})

test('useStatus shows the way from idle to live', async () => {
  const { informer, clock } = mirrorOf(twoTenants)
  const { Recorder, results } = recorder(
    () => useStatus(informer),
    ({ state, isSynced }) => `${state} ${isSynced}`,
  )
  await using page = await Page.with(<Recorder />)
  expect(page.text).toBe('idle false')
  await act(async () => {
    informer.start()
    await clock.advance(0)
  })
  expect(page.text).toBe('live true')
  expect(results.length).toBeLessThanOrEqual(5)
})

/** Components with each hook. */
function Everything({ of }: { of: Informer<Order, { readonly tenant: Equal<Order, string> }> }): ReactElement {
  return (
    <p>
      {totals(useObjects(of.by.tenant, 'acme'))} {useObject(of, '1')?.total} {useStatus(of).state}
    </p>
  )
}

describe('the hooks', () => {
  test.each([
    ['[U5] keep the last objects', 'keep', '1,2 1'],
    ['show nothing', 'clear', ' '],
  ] as const)('%s of an informer without access, or stopped, onAccessLost %s', async (_what, onAccessLost, shown) => {
    const { informer, loseAccess, stop } = await started(twoTenants, { onAccessLost })
    await using page = await Page.with(<Everything of={informer} />)
    await loseAccess()
    expect(page.text).toBe(`${shown} failed`)
    await stop()
    expect(page.text).toBe(`${shown} stopped`)
    await using later = await Page.with(<Everything of={informer} />)
    expect(later.text).toBe(`${shown} stopped`)
  })

  test('[U4] leave no listener after an unmount, also in strict mode', async () => {
    const { informer, source, settle } = await started()
    const [on, off] = [vi.spyOn(informer, 'on'), vi.spyOn(informer, 'off')]
    const signal = internalsOf(informer)?.signal
    {
      await using page = new Page()
      await page.show(
        <StrictMode>
          <Everything of={informer} />
          <Everything of={informer} />
        </StrictMode>,
      )
      expect(signal?.listenerCount).toBe(4)
      source.put('1', order(10))
      await settle()
      expect(page.text).toBe('2,10 10 live2,10 10 live')
    }
    expect(signal?.listenerCount).toBe(0)
    expect(on.mock.calls.length).toBeGreaterThan(0)
    expect(off.mock.calls.map(([, listener]) => listener)).toEqual(on.mock.calls.map(([, listener]) => listener))
  })

  test('[U4] render on a server what the store has, and are hydrated without a difference', async () => {
    const { informer, source, settle } = await started()
    const html = renderToString(<Everything of={informer} />)
    expect(html.replaceAll('<!-- -->', '')).toBe('<p>1,2 1 live</p>')
    expect(internalsOf(informer)?.signal?.listenerCount).toBe(0)
    const errors: unknown[] = []
    await using page = new Page()
    await page.hydrate(html, <Everything of={informer} />, errors)
    expect(errors).toEqual([])
    source.put('1', order(10))
    await settle()
    expect(page.text).toBe('2,10 10 live')
  })

  test('[U4] are synced in a server render directly after synced, while the watch still connects', async () => {
    const { informer } = mirrorOf(twoTenants)
    await informer.start().synced()
    const { Recorder } = recorder(
      () => useStatus(informer),
      ({ state, isSynced }) => `${state} ${isSynced}`,
    )
    expect(renderToString(<Recorder />)).toContain('connecting true')
  })

  test('[U3] show one state of the store in all components, also if it changes during a concurrent render', async () => {
    const { informer, source, clock } = await started()
    const commits: string[][] = []
    let rendered = 0
    let writes = 0
    function Row({ even }: { even: boolean }): string {
      rendered++
      const until = performance.now() + 3
      while (performance.now() < until);
      const [first] = useObjects(informer.by.latest, ['acme'], { limit: 1 })
      const object = useObject(informer, '1')
      return even ? `${object?.total};` : `${first?.total};`
    }
    function Rows(): ReactElement {
      const [count, setCount] = useState(2)
      show = () => startTransition(() => setCount(40))
      useLayoutEffect(() => void commits.push(page.text.split(';').slice(0, -1)))
      return (
        <>
          {Array.from({ length: count }, (_, at) => (
            <Row even={at % 2 === 0} key={at} />
          ))}
        </>
      )
    }
    let show = (): void => {}
    await using page = new Page()
    await page.show(<Rows />)
    Reflect.set(globalThis, 'IS_REACT_ACT_ENVIRONMENT', false)
    try {
      rendered = 0
      show()
      await vi.waitFor(
        async () => {
          // Between two slices of the render.
          if (rendered > 5 && rendered < 35 && writes < 3) {
            source.put('1', order(-++writes))
            await clock.advance(0)
          }
          expect(commits.at(-1)).toHaveLength(40)
        },
        { timeout: 4_000, interval: 1 },
      )
    } finally {
      Reflect.set(globalThis, 'IS_REACT_ACT_ENVIRONMENT', true)
    }
    expect(writes).toBeGreaterThan(0)
    for (const shown of commits) expect(new Set(shown).size).toBe(1)
    expect(new Set(commits.at(-1))).toEqual(new Set([String(-writes)]))
  })
})

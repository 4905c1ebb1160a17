import { afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../../src/contract/clock.js'
import { afterTurn } from '../../../src/contract/node-or-browser.js'

afterEach(() => {
  vi.unstubAllGlobals()
})

describe.each(['Node', 'a browser'])('one turn of the event loop in %s', (place) => {
  const prepare = (): void => {
    if (place === 'Node') return
    vi.stubGlobal('setImmediate', undefined)
    vi.stubGlobal('clearImmediate', undefined)
  }

  test('calls back after the current task and its microtasks', async () => {
    prepare()
    const order: string[] = []
    const called = new Promise<void>((resolve) => {
      afterTurn(() => {
        order.push('turn')
        resolve()
      })
    })
    order.push('task')
    void Promise.resolve().then(() => order.push('microtask'))
    await called
    expect(order).toEqual(['task', 'microtask', 'turn'])
  })

  test('a sleep of 0 ms that is aborted calls nothing', async () => {
    prepare()
    const abort = new AbortController()
    const slept = systemClock.sleep(0, abort.signal).then(
      () => 'slept',
      (reason: unknown) => reason,
    )
    abort.abort('aborted')
    expect(await slept).toBe('aborted')
  })

  test('a sleep of 0 ms resolves', async () => {
    prepare()
    await expect(systemClock.sleep(0)).resolves.toBeUndefined()
  })
})

import { describe, expect, test } from 'vitest'
import { mirrorOf } from '../../support/informers.js'

const ENTRIES = Object.entries({ a: 1, b: 2 })
const hangs = (): Promise<void> => new Promise(() => {})

describe('a handler or run that hangs', () => {
  test('[B12] holds up the other keys at concurrency 1, and backlog and health name its key', async () => {
    const { clock, informer } = mirrorOf(ENTRIES)
    const told: string[] = []
    const add = ({ key }: { readonly key: string }): Promise<void> => {
      told.push(key)
      return hangs()
    }
    informer.subscribe({}, { name: 'idle' })
    const subscription = informer.subscribe({ add }, { name: 'mails' })
    await informer.start().synced()
    await clock.advance(60_000)
    expect([told, subscription.backlog.oldestKey, informer.health().isReady]).toEqual([['a'], 'a', true])
    const { isReady, reason } = informer.health({ stuckAfterMs: 30_000 })
    expect(isReady).toBe(false)
    expect(reason).toMatch(/; a handler of "mails" has not settled for 60 s at key "a"$/)
    expect(informer.health({ stuckAfterMs: 90_000 }).isReady).toBe(true)
  })

  test('[B9] is reported with its likely cause if a drain waits for it', async () => {
    const { clock, informer, errors } = mirrorOf<number, object>([['a', 1]])
    const drain = async (): Promise<void> => {
      await subscription.close({ drain: true })
    }
    const subscription = informer.subscribe({ add: drain }, { name: 'mails' })
    const run = async (): Promise<void> => {
      await controller.close({ drain: true })
    }
    const controller = informer.reconcile(run, { name: 'bills' })
    await informer.start().synced()
    await clock.advance(60_000)
    const cause = 'a drain waits for it: a function must not await the drain of its own subscription'
    expect(errors.map(({ message }) => message)).toEqual([
      `a handler of "mails" on memory has not settled for 10 s at key "a"; 0 keys wait; ${cause}`,
      `reconcile "bills" on memory has not settled for 60 s at key "a"; ${cause}`,
    ])
  })

  test.each([
    ['an overflow', 1, undefined],
    ['an overflow', 2, undefined],
    ['a close', 1, undefined],
    ['a close', 1, 60_000],
  ])(
    '[B12a] has a signal that aborts when the subscription ends by %s: concurrency %i, timeoutMs %s',
    async (by, concurrency, timeoutMs) => {
      const { clock, informer, source } = mirrorOf(ENTRIES)
      const signals: AbortSignal[] = []
      const waiting: number[] = []
      const add = (_change: unknown, { signal }: { readonly signal: AbortSignal }): Promise<void> => {
        signals.push(signal)
        signal.addEventListener('abort', () => waiting.push(other.backlog.keys))
        return hangs()
      }
      const timeout = timeoutMs === undefined ? {} : { timeoutMs }
      const subscription = informer.subscribe({ add }, { concurrency, capacity: 1, onOverflow: 'fail', ...timeout })
      const other = informer.subscribe({ add: hangs })
      await informer.start().synced()
      source.put('c', 1)
      await clock.advance(10)
      expect(signals.map(({ aborted }) => aborted)).toEqual(Array(concurrency).fill(false))
      const closing = by === 'a close' ? subscription.close() : undefined
      if (closing === undefined) source.put('d', 2)
      else expect(signals.map(({ aborted }) => aborted)).toEqual([true])
      await clock.advance(10)
      const code = by === 'a close' ? 'STOPPED' : 'HANDLER'
      expect(signals.map(({ reason }) => reason.code)).toEqual(Array(concurrency).fill(code))
      // Listeners run after the commit, whose change every subscription has then.
      expect(waiting).toEqual(Array(concurrency).fill(by === 'a close' ? 2 : 3))
      await clock.advance(1_000)
      await closing
    },
  )

  test('[B11] with timeoutMs is aborted and reported, and the next key is handled', async () => {
    const { clock, informer, errors } = mirrorOf(ENTRIES)
    const told: string[] = []
    const signals: AbortSignal[] = []
    const subscription = informer.subscribe(
      {
        add: ({ key }, { signal }) => {
          told.push(key)
          signals.push(signal)
          return hangs()
        },
      },
      { timeoutMs: 1_000 },
    )
    await informer.start().synced()
    await clock.advance(500)
    expect([told, signals[0]?.aborted, subscription.backlog.oldestKey]).toEqual([['a'], false, 'a'])
    await clock.advance(600)
    expect(told).toEqual(['a', 'b'])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(errors[0]).toMatchObject({ code: 'HANDLER', key: 'a', cause: { code: 'TIMEOUT' } })
    await clock.advance(1_000)
    expect([subscription.version, subscription.backlog.oldestKey]).toEqual([informer.version, undefined])
  })

  test('[B12] is not named by the backlog of a controller once synced() resolves', async () => {
    const { informer } = mirrorOf(ENTRIES)
    const controller = informer.reconcile(async () => {}, { concurrency: 2 })
    informer.start()
    const backlog = await controller.synced().then(() => controller.backlog)
    expect(backlog).toEqual({ keys: 0, oldestMs: 0, oldestKey: undefined })
    await informer.stop()
  })
})

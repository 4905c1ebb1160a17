import { type MemorySource, memorySource } from '../adapters/memory/index.js'
import {
  type Controller,
  createInformer,
  type Informer,
  OptionError,
  type ReconcileContext,
  type ReconcileOptions,
  SourceError,
} from '../src/index.js'
import { SeededRandom } from './seeded-random.js'
import { VirtualClock } from './virtual-clock.js'

/** The time between two checks whether a controller is idle, in milliseconds. */
const STEP_MS = 10

/**
 * The options of `testController`, besides those of `reconcile`.
 *
 * @example
 * ```ts
 * import { testController } from 'listwatch/testing'
 *
 * await using shop = testController({
 *   objects: [['42', { total: 5 }], ['43', { total: 7 }]], // Default: none.
 *   reconcile: async (key, { object }) => console.log(key, object?.total),
 *   concurrency: 2, // And all other options of `reconcile`.
 *   retry: { maxAttempts: 3 },
 * })
 * ```
 */
export interface TestControllerOptions<T, W extends readonly unknown[] = readonly unknown[]>
  extends ReconcileOptions<T, {}, W> {
  /** The function under test. */
  readonly reconcile: (key: string, context: ReconcileContext<T>) => Promise<void>
  /** The first objects, by key. Default: none. */
  readonly objects?: Iterable<readonly [string, T]>
  /** The clock; pass that of another informer, for `watches`. Default: a new one. */
  readonly clock?: VirtualClock
}

/**
 * A run that has begun.
 *
 * @example
 * ```ts
 * import { testController } from 'listwatch/testing'
 *
 * await using shop = testController({
 *   objects: [['42', { total: 5 }]],
 *   reconcile: async (_key, { attempt }) => {
 *     if (attempt === 1) throw new Error('not yet')
 *   },
 * })
 * await shop.untilIdle()
 * console.log(shop.runs.map(({ reason, result }) => `${reason} ${result}`)) // initial failure, retry success
 * ```
 */
export interface TestedRun<T> extends Omit<ReconcileContext<T>, 'signal' | 'requeueAfter'> {
  /** The key. */
  readonly key: string
  /** How the run ended; undefined while it runs. */
  readonly result: 'success' | 'failure' | undefined
}

/**
 * A controller over a memory source, in virtual time.
 *
 * @example
 * ```ts
 * import { testController } from 'listwatch/testing'
 *
 * await using shop = testController({
 *   objects: [['42', { total: 5 }]],
 *   reconcile: async (key, { requeueAfter }) => requeueAfter(60_000),
 * })
 * await shop.untilIdle()
 * await shop.clock.advance(60_000) // `untilIdle` does not wait for `requeueAfter`.
 * console.log(shop.runs.length, shop.errors, shop.controller.failing.size)
 * ```
 */
export interface TestController<T> extends AsyncDisposable {
  /** The source: `put` and `delete` change its objects, `disconnect` and others script faults. */
  readonly source: MemorySource<T>
  /** The started informer. */
  readonly informer: Informer<T>
  /** The controller. */
  readonly controller: Controller
  /** The clock: `advance` is for delays that `untilIdle` does not wait for. */
  readonly clock: VirtualClock
  /** All runs, in the order in which they began. */
  readonly runs: readonly TestedRun<T>[]
  /** All reported errors. */
  readonly errors: readonly SourceError[]
  /**
   * Advances the clock until the controller has handled the current objects of the source, and no key runs or waits for a
   * retry. Does not wait for `requeueAfter`, delayed `enqueue` calls and resyncs.
   *
   * @throws OptionError for a wrong option; Error after `limitMs` milliseconds of virtual time (default: 60 000), which names the failing keys.
   */
  untilIdle(options?: { readonly limitMs?: number }): Promise<void>
}

/**
 * Starts a controller for a test: over a memory source, with a virtual clock and random numbers that repeat.
 *
 * @returns The test, with the source of the controller and its runs.
 * @throws OptionError for a wrong option; TypeError if `reconcile` is not a function.
 *
 * @example
 * ```ts
 * import { testController } from 'listwatch/testing'
 *
 * const scaled = new Map<string, number>()
 * await using test = testController({
 *   objects: [['shop', { workers: 1 }]],
 *   reconcile: async (key, { object }) => void scaled.set(key, object?.workers ?? 0),
 * })
 * test.source.put('shop', { workers: 2 })
 * await test.untilIdle()
 * console.log(scaled.get('shop'), test.runs.map(({ reason }) => reason))
 * ```
 */
export function testController<T, const W extends readonly unknown[] = readonly []>(
  settings: TestControllerOptions<T, W>,
): TestController<T> {
  if (typeof settings?.reconcile !== 'function') throw new TypeError('testController: reconcile must be a function')
  const { reconcile, objects = [], clock = new VirtualClock(), ...options } = settings
  const source = memorySource<T>({ entries: objects })
  const informer = createInformer<T, {}, T>({ source, clock, random: new SeededRandom(1) })
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  const runs: { -readonly [K in keyof TestedRun<T>]: TestedRun<T>[K] }[] = []
  const observed = async (key: string, context: ReconcileContext<T>): Promise<void> => {
    const { signal, requeueAfter: _requeueAfter, ...rest } = context
    const run: (typeof runs)[number] = { key, ...rest, result: undefined }
    runs.push(run)
    // The controller counts it as failed, and does not wait for its end.
    const fail = (): void => {
      if (signal.reason instanceof SourceError && signal.reason.code === 'TIMEOUT') run.result = 'failure'
    }
    signal.addEventListener('abort', fail, { once: true })
    try {
      await reconcile(key, context)
      run.result ??= 'success'
    } catch (error) {
      run.result = 'failure'
      throw error
    } finally {
      signal.removeEventListener('abort', fail)
    }
  }
  const controller = informer.reconcile<W>(observed, options)
  informer.start()
  const isIdle = async (): Promise<boolean> => {
    await clock.advance(0)
    return controller.backlog.keys === 0 && controller.version === (await source.head())
  }
  const untilIdle = async ({ limitMs = 60_000 }: { readonly limitMs?: number } = {}): Promise<void> => {
    if (!(limitMs >= 0 && Number.isFinite(limitMs)))
      throw new OptionError(`untilIdle: option "limitMs" must be a finite number of at least 0, got ${limitMs}`, {
        option: 'limitMs',
      })
    const end = clock.now() + limitMs
    while (!(await isIdle())) {
      const { isReady, reason } = informer.health()
      const whyNot = isReady ? '' : `; the informer is not ready: ${reason}`
      if (clock.now() >= end) throw new Error(`untilIdle: not idle after ${limitMs} ms${describe(controller)}${whyNot}`)
      await clock.advance(STEP_MS)
    }
  }
  const stop = async (): Promise<void> => {
    const stopped = informer.stop()
    await clock.advance(2_000) // The grace periods of runs that hang.
    await stopped
  }
  return { source, informer, controller, clock, runs, errors, untilIdle, [Symbol.asyncDispose]: stop }
}

function describe({ backlog, failing, isPaused }: Controller): string {
  const waiting = isPaused ? '; it is paused' : `; ${backlog.keys} keys wait`
  const failed = Array.from(failing, ([key, { attempt, lastError }]) => `; "${key}", attempt ${attempt}: ${lastError}`)
  return waiting + failed.slice(0, 5).join('')
}

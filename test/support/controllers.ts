import { FeedController } from '../../src/subscriptions/controller/controller.js'
import type { ReconcileContext, ReconcileOptions } from '../../src/subscriptions/controller/controller-types.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { Mirror } from './feeds.js'

export type Reconcile<T> = (key: string, context: ReconcileContext<T>) => Promise<void>

export function reconcile<T>(
  mirror: Mirror<T>,
  fn: Reconcile<T>,
  options: ReconcileOptions<T> = {},
): FeedController<T> {
  const { retry, rateLimit, priority, watches, after, ...scope } = options
  return new FeedController(mirror.feed(scope), fn, { ...options, random: new SeededRandom(1) })
}

export function numbers(...entries: (readonly [string, number])[]): Mirror<number> {
  return new Mirror<number>().list(entries, '5')
}

/** Runs that the test ends. */
export class Runs {
  readonly begun: string[] = []
  readonly contexts: ReconcileContext<number>[] = []
  readonly #ends: { resolve: () => void; reject: (error: unknown) => void }[] = []

  readonly fn: Reconcile<number> = (key, context) => {
    this.begun.push(`${key}=${context.object}`)
    this.contexts.push(context)
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#ends.push({ resolve, reject })
    return promise
  }

  /** Ends the run that began first. */
  succeed(): void {
    this.#ends.shift()?.resolve()
  }

  fail(error: unknown = new Error('no')): void {
    this.#ends.shift()?.reject(error)
  }
}

/** A controller of which the first runs have begun. */
export async function reconciling(
  entries: readonly (readonly [string, number])[],
  options: ReconcileOptions<number> = {},
): Promise<{ readonly mirror: Mirror<number>; readonly runs: Runs; readonly controller: FeedController<number> }> {
  const mirror = numbers(...entries)
  const runs = new Runs()
  const controller = reconcile(mirror, runs.fn, options)
  await mirror.clock.advance(0)
  return { mirror, runs, controller }
}

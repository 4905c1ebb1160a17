import { expect, onTestFinished, vi } from 'vitest'
import { type MemorySource, type MemorySourceOptions, memorySource } from '../../adapters/memory/index.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer, InformerOptions, Lifecycle } from '../../src/informer/informer-types.js'
import type { SourceSet } from '../../src/informer/sources/source-set.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'

export type Order = { readonly tenant: string; readonly total: number; readonly tags?: readonly string[] }

export function order(total: number, tenant = 'acme', tags: readonly string[] = []): Order {
  return { tenant, total, tags }
}

export interface World<T, I, S> {
  readonly clock: VirtualClock
  readonly source: S
  readonly informer: Informer<T, I>
  /** All that was reported. */
  readonly errors: SourceError[]
}

/** An informer in virtual time. When the test is over it is stopped, and no timer may be left (I15). */
export function informerOf<T, I extends object, S extends ListerWatcher<T> | SourceSet<T>>(
  source: S & (ListerWatcher<T> | SourceSet<T>),
  {
    clock = new VirtualClock(),
    ...options
  }: Omit<InformerOptions<T, I, T>, 'source' | 'clock' | 'random'> & { readonly clock?: VirtualClock } = {},
): World<T, I, S> {
  const informer = createInformer<T, I, T>({ ...options, source, clock, random: new SeededRandom(1) })
  const errors: SourceError[] = []
  informer.on('error', (error) => errors.push(error))
  onTestFinished(() => assertCleanStop(informer, clock))
  return { clock, source, informer, errors }
}

/** The same over a memory source. */
export function mirrorOf<T, I extends object>(
  entries: Iterable<readonly [string, T]>,
  options: Omit<InformerOptions<T, I, T>, 'source' | 'clock' | 'random'> & {
    readonly memory?: MemorySourceOptions<T>
  } = {},
): World<T, I, MemorySource<T>> {
  const { memory, ...rest } = options
  return informerOf(memorySource<T>({ ...memory, entries }), rest)
}

/** Starts it, and lets all happen that is ready to. */
export async function begun(informer: Lifecycle, clock: VirtualClock): Promise<void> {
  informer.start()
  await clock.advance(0)
}

export async function assertCleanStop(informer: Lifecycle, clock: VirtualClock): Promise<void> {
  const stopped = informer.stop()
  await clock.advance(1_000)
  await stopped
  expect(clock.sleeping, 'timers that are left after stop()').toBe(0)
}

/** Whether a promise is settled, once all that is ready to happen has happened. */
export async function outcomeOf(
  promise: Promise<unknown>,
  clock: VirtualClock,
): Promise<'pending' | 'resolved' | { readonly rejected: unknown }> {
  let outcome: 'pending' | 'resolved' | { readonly rejected: unknown } = 'pending'
  promise.then(
    () => (outcome = 'resolved'),
    (error: unknown) => (outcome = { rejected: error }),
  )
  await clock.advance(0)
  return outcome
}

/** The warnings of the process while the test runs, instead of lines on the console. */
export function warnings(): string[] {
  const said: string[] = []
  const spy = vi.spyOn(process, 'emitWarning').mockImplementation((warning: string | Error) => {
    said.push(String(warning))
  })
  onTestFinished(() => spy.mockRestore())
  return said
}

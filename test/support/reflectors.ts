import { expect, onTestFinished } from 'vitest'
import type { Sink } from '../../src/adapter.js'
import { Indexer, type ListerWatcher, Reflector, type SourceError, type Version } from '../../src/index.js'
import type { ReflectorState } from '../../src/reflector/reflector-state.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'

export interface Running<T> {
  readonly clock: VirtualClock
  readonly reflector: Reflector<T>
  readonly errors: SourceError[]
  /** The states it went through, the present one last. */
  readonly states: ReflectorState['name'][]
  readonly ignored: Version[]
  readonly stop: () => Promise<void>
}

/** A reflector that runs in virtual time. When the test is over it is stopped, and no timer may be left. */
export async function reflect<T>(
  source: ListerWatcher<T>,
  sink: Sink<T>,
  { hasWaiters = () => false }: { readonly hasWaiters?: () => boolean } = {},
): Promise<Running<T>> {
  const clock = new VirtualClock()
  const control = new AbortController()
  const errors: SourceError[] = []
  const states: ReflectorState['name'][] = []
  const ignored: Version[] = []
  const reflector = new Reflector<T>(
    source,
    sink,
    { clock, random: new SeededRandom(1) },
    {
      onError: (error) => errors.push(error),
      onStateChange: (state) => states.push(state.name),
      onDuplicate: (version) => ignored.push(version),
      hasWaiters,
    },
  )
  const running = reflector.run({ signal: control.signal })
  const stop = async (): Promise<void> => {
    control.abort()
    await running
  }
  onTestFinished(async () => {
    await stop()
    await clock.advance(0)
    expect(clock.sleeping, 'timers that are left after the end').toBe(0)
  })
  await clock.advance(0)
  return { clock, reflector, errors, states, ignored, stop }
}

/** An indexer that reports nowhere, and what it holds. */
export function store<T>(): { readonly sink: Indexer<T>; readonly objects: () => Record<string, T> } {
  const sink = new Indexer<T>({}, { report: () => {} })
  return { sink, objects: () => Object.fromEntries(sink.entries()) }
}

import { expect, onTestFinished } from 'vitest'
import type { ListEvent } from '../../src/adapter.js'
import type { IndexBuilder, InformerOptions, ListerWatcher, SourceSet } from '../../src/index.js'
import { informerOf, type World } from './informers.js'
import { running } from './running.js'
import { numbered, type ScriptedSource, scripted } from './scripted-source.js'
import { SliceClock, sliceEachStep } from './slice-clock.js'

export type Item = { readonly kind: string; readonly n: number }

export const item = (n: number, kind = n % 2 === 0 ? 'even' : 'odd'): Item => ({ kind, n })

export type Indexes = ReturnType<typeof indexes>
export const indexes = (ix: IndexBuilder<Item>) => ({
  kind: ix.equal(({ kind }) => kind),
  tags: ix.multi(({ kind, n }) => [kind, `n${n}`]),
  n: ix.ordered(({ n }) => n),
})

export type Options = Partial<Omit<InformerOptions<Item, Indexes, Item>, 'clock' | 'random' | 'source'>>

export type Sliced<S> = Omit<World<Item, Indexes, S>, 'clock'> & { readonly clock: SliceClock }

/** An informer whose writes and searches run in slices of one step, and can be paused after each slice. */
export function sliced<S extends ListerWatcher<Item> | SourceSet<Item>>(source: S, options: Options = {}): Sliced<S> {
  const clock = new SliceClock()
  const world = informerOf<Item, Indexes, S>(source as never, { indexes, slices: sliceEachStep(0), ...options, clock })
  onTestFinished(() => clock.release())
  return { ...world, clock }
}

/** A live mirror of these objects at version 1, whose next write pauses after each slice. */
export async function liveOf(
  first: readonly ListEvent<Item>[],
  options: Options = {},
): Promise<Sliced<ScriptedSource<Item>>> {
  const source = scripted<Item>({
    hasReached: numbered,
    head: async () => '1',
    heartbeatMs: 1_000_000,
    onList: (call, nth) => nth === 1 && call.answer(first, '1'),
  })
  const world = await running(sliced(source, { audit: false, ...options }))
  expect(world.informer.version).toBe('1')
  world.clock.hold()
  return world
}

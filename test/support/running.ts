import type { MemorySource } from '../../adapters/memory/index.js'
import type { ListEvent, ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { type SourceSet, sourceSet } from '../../src/informer/sources/source-set.js'
import type { Change } from '../../src/queue/change.js'
import type { SubscribeOptions } from '../../src/subscriptions/subscription-types.js'
import type { VirtualClock } from '../../testing/virtual-clock.js'
import { informerOf, type World } from './informers.js'
import { type Running, reflect, store } from './reflectors.js'
import { numbered, type Script, type ScriptedSource, scripted } from './scripted-source.js'

/** A scripted source that answers each list with these events. */
export function listed<T>(
  events: readonly ListEvent<T>[],
  version: Version,
  script: Omit<Script<T>, 'onList'> = {},
): ScriptedSource<T> {
  return scripted({ onList: (list) => list.answer(events, version), ...script })
}

/** The same, with versions that can be compared. */
export function ordered<T>(
  events: readonly ListEvent<T>[],
  version: Version,
  script: Omit<Script<T>, 'onList' | 'hasReached'> = {},
): ScriptedSource<T> {
  return listed(events, version, { hasReached: numbered, ...script })
}

/** Starts the informer of a world. A list that the source answers at once is in its store, and the watch is open. */
export async function running<W extends { readonly clock: VirtualClock; readonly informer: { start(): unknown } }>(
  world: W,
): Promise<W> {
  world.informer.start()
  await world.clock.advance(0)
  return world
}

/** A reflector of the source that runs, and its store. */
export async function reflected<T, S extends ListerWatcher<T>>(
  source: S & ListerWatcher<T>,
): Promise<Running<T> & ReturnType<typeof store<T>> & { readonly source: S }> {
  const target = store<T>()
  return { ...(await reflect<T>(source, target.sink)), ...target, source }
}

/** An informer of several sources, which are members of the world too. */
export function setOf<T, I extends object, Sources extends Readonly<Record<string, ListerWatcher<T>>>>(
  sources: Sources & Readonly<Record<string, ListerWatcher<T>>>,
  options: Parameters<typeof informerOf<T, I, SourceSet<T>>>[1] = {},
): Omit<World<T, I, SourceSet<T>>, 'source'> & { readonly set: SourceSet<T> } & Sources {
  const { source: set, ...world } = informerOf<T, I, SourceSet<T>>(sourceSet<T>(sources), options)
  return { ...sources, ...world, set }
}

/** The changes that a new subscription receives, each in these words. */
export function heard<T, I extends object>(
  informer: Informer<T, I>,
  words: (change: Change<T>) => string,
  options?: SubscribeOptions<T, I>,
): string[] {
  const lines: string[] = []
  const tell = (change: Change<T>): void => void lines.push(words(change))
  informer.subscribe({ add: tell, update: tell, delete: tell }, options)
  return lines
}

/** Counts the lists of a source from now on. */
export function countLists<T>(source: MemorySource<T>): () => number {
  const { list } = source
  let lists = 0
  source.list = (context) => {
    lists++
    return list.call(source, context)
  }
  return () => lists
}

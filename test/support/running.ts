import type { ListEvent, ListerWatcher } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type { VirtualClock } from '../../testing/virtual-clock.js'
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

import type { Entry } from '../../../src/adapter.js'
import type { Informer, StoreView } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import { checkIndexes, type IndexesOf } from '../workload/declared-indexes.js'

/**
 * A snapshot, and the objects of the store when it was taken: it returns them until it is disposed of, and throws
 * afterwards (I8).
 */
export class SnapshotChecker {
  readonly view: StoreView<Item, IndexesOf> & Disposable
  readonly #scenario: Scenario
  readonly #entries: ReadonlyMap<string, Entry<Item>>
  readonly #version: string | undefined

  constructor(scenario: Scenario, informer: Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    this.#version = informer.version
    this.#entries = entriesOf(informer)
    this.view = informer.snapshot()
  }

  check(): void {
    const { view } = this
    if (view.version !== this.#version) this.#wrong(`a snapshot of ${this.#version} says ${view.version}`)
    checkView(this.#scenario, view, this.#entries, 'a snapshot')
    checkIndexes(this.#scenario, view)
  }

  dispose(): void {
    const { view } = this
    this.check()
    view[Symbol.dispose]()
    const reads: Readonly<Record<string, () => unknown>> = {
      get: () => view.get(''),
      list: () => view.list(),
      entries: () => [...view.entries()],
      index: () => view.by.rank(),
    }
    for (const [name, read] of Object.entries(reads))
      if (isReadable(read)) this.#wrong(`a disposed snapshot has ${name}`)
  }

  #wrong(message: string): void {
    this.#scenario.violate('I8', message)
  }
}

/** Snapshots that are held while the store changes; each must stay the same (I8). */
export class Snapshots {
  readonly #taken: { readonly held: SnapshotChecker; readonly ends: (view: SnapshotChecker['view']) => void }[] = []

  /** `ends` is called at its end. */
  begin(held: SnapshotChecker, ends: (view: SnapshotChecker['view']) => void): void {
    this.#taken.push({ held, ends })
  }

  check(): void {
    for (const { held } of this.#taken) held.check()
  }

  end(): void {
    const snapshot = this.#taken.shift()
    if (snapshot === undefined) return
    snapshot.ends(snapshot.held.view)
    snapshot.held.dispose()
  }

  get count(): number {
    return this.#taken.length
  }

  endAll(): void {
    while (this.#taken.length > 0) this.end()
  }
}

/** The number of entries up to which all are checked one by one. */
const MANY = 50

/** Every accessor of a view, but for its indexes, returns the same objects as its entries (I9). */
export function checkView(
  { settings, decisions, violate }: Scenario,
  view: Omit<StoreView<Item>, 'version' | 'by'>,
  entries: ReadonlyMap<string, Entry<Item>>,
  what: string,
): void {
  const pairs = [...view.entries()]
  const list = view.list()
  const objects = new Set(Array.from(entries.values(), ({ object }) => object))
  const isRight =
    view.size === entries.size &&
    pairs.length === entries.size &&
    pairs.every(([key, object]) => entries.get(key)?.object === object) &&
    new Set(view.keys()).size === entries.size &&
    Array.from(view.keys()).every((key) => entries.has(key)) &&
    list.length === entries.size &&
    list.every((object) => objects.has(object))
  if (!isRight) violate('I9', `${what} has another content than it had, or its accessors do not agree`)
  if (entries.size > 0 && view.list() !== list) violate('I9', `${what} makes a new list for each call`)
  const keys = entries.size > MANY ? [decisions.pick('questions', [...entries.keys()])] : entries.keys()
  for (const key of new Set([...settings.keys, ...keys])) {
    const [is, right] = [view.entry(key), entries.get(key)]
    const isSo = is?.object === right?.object && is?.version === right?.version && is?.uid === right?.uid
    if (!isSo || view.get(key) !== right?.object || view.has(key) !== (right !== undefined))
      violate('I9', `${what} and its entries differ at ${nameOf(key)}`)
  }
}

/** All entries of a store, with versions and identities. */
export function entriesOf(store: Pick<StoreView<Item>, 'entries' | 'entry'>): ReadonlyMap<string, Entry<Item>> {
  const entries = new Map<string, Entry<Item>>()
  for (const [key] of store.entries()) {
    const entry = store.entry(key)
    if (entry !== undefined) entries.set(key, entry)
  }
  return entries
}

function isReadable(read: () => unknown): boolean {
  try {
    read()
    return true
  } catch {
    return false
  }
}

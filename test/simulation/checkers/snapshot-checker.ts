import type { Entry } from '../../../src/contract/source.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { StoreView } from '../../../src/store/store-view.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import { checkIndexes, type IndexesOf } from '../workload/declared-indexes.js'
import { QueryModel } from './query-model.js'

/**
 * A snapshot, and the objects of the store when it was taken: it returns them until it is disposed of, and throws
 * afterwards (I8).
 */
export class SnapshotChecker {
  readonly view: StoreView<Item, IndexesOf> & Disposable
  readonly #scenario: Scenario
  readonly #answers: QueryModel
  readonly #entries: ReadonlyMap<string, Entry<Item>>
  readonly #version: string | undefined

  constructor(scenario: Scenario, informer: Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    this.#answers = new QueryModel(scenario)
    this.#version = informer.version
    this.#entries = entriesOf(informer)
    this.view = informer.snapshot()
  }

  check(): void {
    const { view } = this
    if (view.version !== this.#version) this.#wrong(`a snapshot of ${this.#version} says ${view.version}`)
    this.#answers.check(view, this.#entries, 'a snapshot')
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
      index: () => view.by.score(),
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

import type { Informer } from '../../src/informer.js'
import type { Version } from '../../src/version.js'
import type { StoreView } from '../../src/views.js'
import type { Item } from './history.js'
import { checkIndexes, type IndexesOf } from './indexes.js'
import type { Stage } from './stage.js'
import { judgeStore } from './store-judge.js'

interface Taken {
  readonly view: StoreView<Item, IndexesOf> & Disposable
  readonly version: Version | undefined
  readonly relists: number
}

/** Snapshots that are held while the store moves on; each must stay as it was (I8). */
export class Snapshots {
  readonly #stage: Stage
  readonly #informer: Informer<Item, IndexesOf>
  readonly #taken: Taken[] = []

  constructor(stage: Stage, informer: Informer<Item, IndexesOf>) {
    this.#stage = stage
    this.#informer = informer
  }

  begin(): void {
    const { version, status } = this.#informer
    this.#taken.push({ view: this.#informer.snapshot(), version, relists: status.relists })
  }

  /** Ends the oldest. */
  end(): void {
    const snapshot = this.#taken.shift()
    if (snapshot === undefined) return
    const { mark, violate, settings, history } = this.#stage
    const { view, version, relists } = snapshot
    if (this.#informer.status.relists > relists) mark('a snapshot outlived a relist')
    if (view.version !== version) violate('I8', `a snapshot of ${version} says ${view.version}`)
    if (!settings.isBreach && version !== undefined)
      judgeStore(this.#stage, history.at(version).state, view, 'I8', 'a snapshot', settings.omits)
    checkIndexes(this.#stage, view)
    view[Symbol.dispose]()
  }

  endAll(): void {
    while (this.#taken.length > 0) this.end()
  }
}

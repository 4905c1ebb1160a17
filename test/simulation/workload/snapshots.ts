import type { Version } from '../../../src/contract/version.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { Item } from '../backend/history.js'
import { SnapshotChecker } from '../checkers/snapshot-checker.js'
import { checkStore } from '../checkers/store-checker.js'
import type { SourceScenario } from '../system/scenario.js'
import type { IndexesOf } from './declared-indexes.js'

interface Taken {
  readonly held: SnapshotChecker
  readonly version: Version | undefined
  readonly relists: number
}

/** Snapshots that are held while the store changes; each must stay the same (I8). */
export class Snapshots {
  readonly #scenario: SourceScenario
  readonly #informer: Informer<Item, IndexesOf>
  readonly #taken: Taken[] = []

  constructor(scenario: SourceScenario, informer: Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    this.#informer = informer
  }

  begin(): void {
    const { version, status } = this.#informer
    this.#taken.push({ held: new SnapshotChecker(this.#scenario, this.#informer), version, relists: status.relists })
  }

  /** Checks all snapshots. */
  check(): void {
    for (const { held } of this.#taken) held.check()
  }

  /** Ends the oldest. */
  end(): void {
    const snapshot = this.#taken.shift()
    if (snapshot === undefined) return
    const { mark, settings, history } = this.#scenario
    const { held, version, relists } = snapshot
    if (this.#informer.status.relists > relists) mark('a snapshot outlived a relist')
    if (!settings.isBreach && version !== undefined)
      checkStore(this.#scenario, history.at(version).state, held.view, 'I8', 'a snapshot', settings.omits)
    held.dispose()
  }

  /** The number of snapshots that were not disposed. */
  get count(): number {
    return this.#taken.length
  }

  endAll(): void {
    while (this.#taken.length > 0) this.end()
  }
}

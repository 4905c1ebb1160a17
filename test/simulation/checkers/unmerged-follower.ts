import type { Change, Informer, Version } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import type { IndexesOf } from '../workload/declared-indexes.js'
import { checkFinalState } from './final-state-checker.js'

/** Receives every change at once and unmerged. Merged deliveries are compared with it. */
export class UnmergedFollower {
  readonly #scenario: SourceScenario
  /** The indexes in the history at which each key changed. `again`: it was listed after lost access had deleted it. */
  readonly #changes = new Map<string, { readonly at: number; readonly again: boolean }[]>()
  /** The keys that lost access has deleted. */
  readonly #lost = new Set<string>()
  readonly #receivedAt = new Map<string, number>()
  readonly #times = new Map<string, number>()
  readonly #deleted = new Map<string, Item>()
  readonly #present = new Set<string>()
  /** The newest content of each key, and its epoch. */
  readonly #newest = new Map<string, { readonly n: number; readonly epoch: number }>()

  constructor(scenario: SourceScenario, informer: Informer<Item, IndexesOf>) {
    this.#scenario = scenario
    const receive = (change: Change<Item>): void => this.#receive(change)
    informer.subscribe({ add: receive, update: receive, delete: receive }, { name: 'witness' })
  }

  /**
   * Whether the last change of a key up to `version` has this index. A batch from before lost access does not include
   * that the key was listed again, perhaps at the same version.
   */
  isLast(key: string, version: Version, index: number): boolean {
    const upTo = this.#scenario.history.indexOf(version)
    const known = this.#changes.get(key)?.filter(({ at }) => at <= upTo) ?? []
    const lastOfSource = known.findLastIndex(({ again }) => !again)
    return known.length === 0 || known.slice(Math.max(0, lastOfSource)).some(({ at }) => at === index)
  }

  receivedAt(key: string): number {
    return this.#receivedAt.get(key) ?? -Infinity
  }

  timesOf(key: string): number {
    return this.#times.get(key) ?? 0
  }

  lastOf(key: string): Item | undefined {
    return this.#deleted.get(key)
  }

  isGone(key: string): boolean {
    return this.#deleted.has(key) && !this.#present.has(key)
  }

  /** A repeated batch changes nothing, so that no content is added twice by watches of one history. */
  #order({ type, key, object: { n }, version, origin }: Change<Item>): void {
    const { history, settings, violate } = this.#scenario
    if (type === 'delete' || version === undefined || settings.isBreach) return
    const { epoch } = history.at(version)
    const newest = this.#newest.get(key)
    this.#newest.set(key, { n, epoch })
    if (origin !== 'watch' || type === 'update' || newest?.epoch !== epoch) return
    if (newest.n >= n && history.isWrittenOnce(n)) violate('I3', `n${n} of ${nameOf(key)} was added again`)
  }

  #receive(change: Change<Item>): void {
    const { key, version, origin } = change
    this.#order(change)
    if (change.type === 'delete') this.#present.delete(key)
    else this.#present.add(key)
    if (change.type === 'delete') {
      if (!this.#scenario.settings.isBreach) checkFinalState(this.#scenario, this.#scenario, change)
      this.#deleted.set(key, change.object)
    }
    if (change.type === 'update' && change.object === change.previous)
      this.#scenario.violate('I3', `the same object of ${nameOf(key)} was delivered again`)
    this.#receivedAt.set(key, this.#scenario.clock.elapsed)
    this.#times.set(key, this.timesOf(key) + 1)
    if (origin === 'access-lost') this.#lost.add(key)
    if (origin === 'initial' || version === undefined) return
    const known = this.#changes.get(key) ?? []
    this.#changes.set(key, known)
    known.push({ at: this.#scenario.history.indexOf(version), again: this.#lost.delete(key) })
  }
}

import type { Version } from '../../../src/contract/version.js'
import type { History, Stored } from '../backend/history.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'
import type { Settings } from '../workload/settings.js'
import { VersionOrderChecker } from './version-order-checker.js'

export interface Handled {
  /** Increases with everything that it handles. */
  readonly handledCount: number
  /** The content of a key as it was handled last; undefined if the key was deleted, or never handled. */
  handledOf(key: string): number | undefined
  /** Whether it has to know an object of the source. */
  wants(stored: Stored | undefined): boolean
}

/**
 * Checks the version of a consumer, open or closed. It never goes back and is never lost (law 6), and everything up to
 * it was handled (I7).
 */
export class HandledVersionChecker {
  readonly #scenario: SourceScenario
  readonly #name: string
  readonly #progress: VersionOrderChecker
  /** The index of its version when it received the loss of access; undefined since its next version. */
  #lostAt: number | undefined
  #checkedAt: Version | undefined
  #checkedCount = -1

  constructor(scenario: SourceScenario, name: string) {
    this.#scenario = scenario
    this.#name = name
    this.#progress = new VersionOrderChecker(scenario, `the version of ${name}`)
  }

  accessLost(): void {
    const { history } = this.#scenario
    this.#lostAt = history.indexOf(history.head.version)
  }

  checkStep(version: Version | undefined, handled: Handled): void {
    const { history, violate } = this.#scenario
    this.#progress.at(version)
    if (version === undefined) return
    // The objects of versions before the loss are deleted, one by one, while slow handlers of these versions end.
    if (this.#lostAt !== undefined && history.indexOf(version) <= this.#lostAt) return
    this.#lostAt = undefined
    if (version === this.#checkedAt && handled.handledCount === this.#checkedCount) return
    this.#checkedAt = version
    this.#checkedCount = handled.handledCount
    const missing = unhandled(this.#scenario, version, handled)
    if (missing !== undefined) violate('I7', `${this.#name} says ${version}, and has handled ${missing}`)
  }
}

/** What a consumer has handled of a key, if that is not what the source had at a version or later. */
export function unhandled(
  { history, settings }: { readonly history: History; readonly settings: Settings },
  version: Version,
  handled: Pick<Handled, 'handledOf' | 'wants'>,
): string | undefined {
  for (const key of settings.keys) {
    const n = handled.handledOf(key)
    const uid = settings.hasUids && n === undefined ? history.at(version).state.get(key)?.uid : undefined
    // Another identity is delivered as a delete, then an add: in between the key is absent.
    const isSo = (stored: Stored | undefined): boolean =>
      stored?.isInvalid === true ||
      (handled.wants(stored) ? stored?.item.n === n : n === undefined) ||
      (uid !== undefined && stored?.uid !== uid)
    if (!history.isAtOrAfter(key, isSo, version)) return `${n === undefined ? 'nothing' : `n${n}`} of ${nameOf(key)}`
  }
  return undefined
}

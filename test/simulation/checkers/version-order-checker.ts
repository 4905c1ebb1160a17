import type { Version } from '../../../src/contract/version.js'
import type { SourceScenario } from '../system/scenario.js'

export const nowhere = '–'

/** Checks that a version never goes back (I10), and that no older epoch follows a newer one (I11). */
export class VersionOrderChecker {
  readonly #scenario: SourceScenario
  readonly #what: string
  #last: Version | undefined

  constructor(scenario: SourceScenario, what: string) {
    this.#scenario = scenario
    this.#what = what
  }

  at(version: Version | undefined): void {
    const last = this.#last
    // The access-lost checker checks whether it may lose its version.
    if (version === last || (version === undefined && this.#scenario.settings.clears)) return
    this.#last = version
    if (last === undefined) return
    const { history, violate } = this.#scenario
    if (version !== undefined && history.indexOf(version) >= history.indexOf(last)) return
    const isOlder = version !== undefined && history.at(version).epoch < history.at(last).epoch
    violate(isOlder ? 'I11' : 'I10', `${this.#what} went back from ${last} to ${version ?? nowhere}`)
  }
}

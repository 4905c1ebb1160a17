import type { Version } from '../../../src/contract/version.js'
import type { ListStream } from '../backend/list-stream.js'
import type { WatchStream } from '../backend/watch-stream.js'
import type { SourceScenario } from '../system/scenario.js'
import { nowhere, VersionOrderChecker } from './version-order-checker.js'

/**
 * Checks the version from which a reflector resumes: the last version that its sink accepted, neither later, which
 * would lose changes, nor earlier (I10). A list receives the version that readers have seen, and may not be older
 * (I11).
 */
export class ResumeChecker {
  readonly #scenario: SourceScenario
  /** The last version that the sink accepted. */
  readonly #accepted: () => Version | undefined
  #progress: VersionOrderChecker
  /** Whether the history of the store is over, and no list of the next one is complete. */
  #isForked = false

  constructor(scenario: SourceScenario, accepted: () => Version | undefined) {
    this.#scenario = scenario
    this.#accepted = accepted
    this.#progress = new VersionOrderChecker(scenario, 'the resume point')
  }

  /** The source reports another history. */
  forked(): void {
    this.#isForked = true
  }

  /** A list is complete. */
  listed(): void {
    this.#isForked = false
  }

  /** `isFirst`: no reader has seen the saved content from which a watch was to resume, unless the list has a floor. */
  opened(stream: ListStream | WatchStream, isFirst: boolean): void {
    const accepted = this.#accepted()
    if (stream.kind === 'watch') {
      this.#progress.at(stream.after)
      if (stream.after !== accepted)
        this.#scenario.violate('I10', `a watch begins after ${stream.after}, and the sink is at ${accepted ?? nowhere}`)
      return
    }
    if (stream.floor === undefined) {
      if (isFirst) this.#progress = new VersionOrderChecker(this.#scenario, 'the resume point')
      return
    }
    if (this.#isForked) this.#scenario.violate('I11', `a list has the floor ${stream.floor}, whose history is over`)
    // The objects were deleted because access was lost; the next list may still not be older.
    else if (accepted === undefined && this.#scenario.settings.clears) this.#progress.at(stream.floor)
    else if (stream.floor !== accepted)
      this.#scenario.violate('I11', `a list has the floor ${stream.floor}, and the sink is at ${accepted ?? nowhere}`)
  }
}

import type { Version } from '../../../src/contract/version.js'
import type { ListStream } from '../backend/list-stream.js'
import type { WatchStream } from '../backend/watch-stream.js'
import type { SourceScenario } from '../system/scenario.js'
import { nowhere, VersionOrderChecker } from './version-order-checker.js'

/**
 * Judges from where a reflector goes on: from what its sink accepted last, neither more, which nobody would ever be told,
 * nor less (I10); and that a list is told what was shown, which it may not fall behind (I11).
 */
export class ResumeChecker {
  readonly #scenario: SourceScenario
  /** The version of what the sink accepted last. */
  readonly #accepted: () => Version | undefined
  readonly #progress: VersionOrderChecker
  /** Whether the history that was shown is over, and no list of the next one is in. */
  #isForked = false

  constructor(scenario: SourceScenario, accepted: () => Version | undefined) {
    this.#scenario = scenario
    this.#accepted = accepted
    this.#progress = new VersionOrderChecker(scenario, 'the resume point')
  }

  /** The source says that its history is another one. */
  forked(): void {
    this.#isForked = true
  }

  /** A list is in. */
  listed(): void {
    this.#isForked = false
  }

  opened(stream: ListStream | WatchStream): void {
    const accepted = this.#accepted()
    if (stream.kind === 'watch') {
      this.#progress.at(stream.after)
      if (stream.after !== accepted)
        this.#scenario.violate('I10', `a watch begins after ${stream.after}, and the sink is at ${accepted ?? nowhere}`)
      return
    }
    if (stream.floor === undefined) return
    if (this.#isForked) this.#scenario.violate('I11', `a list is told of ${stream.floor}, whose history is over`)
    // Its objects were deleted because access was lost; it may not be shown anything older all the same.
    else if (accepted === undefined && this.#scenario.settings.clears) this.#progress.at(stream.floor)
    else if (stream.floor !== accepted)
      this.#scenario.violate('I11', `a list is told of ${stream.floor}, and the sink is at ${accepted ?? nowhere}`)
  }
}

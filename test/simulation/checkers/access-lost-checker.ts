import type { SourceError, Version } from '../../../src/index.js'
import type { Scenario } from '../system/scenario.js'

interface Mirrored {
  version(): Version | undefined
  isWriting(): boolean
  isListed(): boolean
  size(): number
  /** The code with which its source refused access since it was last opened. */
  refusedWith(): string | undefined
  lost?(): void
}

/**
 * Checks the objects of a source that refuses access. With `onAccessLost: 'clear'`, all of them are deleted at once and
 * the store is empty until the next list. Otherwise they stay. The store loses its version for no other reason.
 */
export class AccessLostChecker {
  readonly #scenario: Scenario
  readonly #mirrored: Mirrored
  #version: Version | undefined
  #isCleared = false
  /** Access was lost during a large write. */
  #mustBeCleared = false
  times = 0
  at = -1

  constructor(scenario: Scenario, mirrored: Mirrored) {
    this.#scenario = scenario
    this.#mirrored = mirrored
  }

  /** Whether its objects were deleted, or are being deleted, and it was not listed since. */
  get isCleared(): boolean {
    this.checkStep()
    return this.#isCleared || this.#mustBeCleared
  }

  /** Whether its objects are being deleted, or will be after the large write in progress. A stop does not end that. */
  get isClearing(): boolean {
    this.checkStep()
    return this.#mustBeCleared
  }

  checkStep(): void {
    const version = this.#mirrored.version()
    const wasRefused = this.#mustBeCleared
    if (wasRefused && (version === undefined || !this.#mirrored.isWriting())) this.#checkCleared()
    if (version === this.#version) return
    if (version === undefined) this.#lost(wasRefused)
    this.#isCleared = version === undefined
    this.#version = version
  }

  failed({ code }: SourceError): void {
    this.checkStep()
    if (code !== 'UNAUTHORIZED' || !this.#scenario.settings.clears || !this.#mirrored.isListed()) return
    // Saved content was confirmed, and its objects were deleted, in one step.
    if (this.#mirrored.version() === undefined && !this.#isCleared) this.#lost(true)
    this.#isCleared ||= this.#mirrored.version() === undefined
    this.#mustBeCleared = true
    if (!this.#mirrored.isWriting()) this.#checkCleared()
  }

  #checkCleared(): void {
    const { violate } = this.#scenario
    const [size, version] = [this.#mirrored.size(), this.#mirrored.version()]
    this.#mustBeCleared = false
    // It was opened again. The next list may have been written right after the deletion.
    if (this.#mirrored.refusedWith() === undefined) return
    if (version !== undefined) violate('access', `access was lost, and the store is at ${version}`)
    if (size > 0) violate('access', `access was lost, and ${size} objects are left`)
  }

  #lost(wasRefused: boolean): void {
    const { clock, settings, violate, mark, note } = this.#scenario
    const refusedWith = this.#mirrored.refusedWith()
    this.times++
    this.#mirrored.lost?.()
    this.at = clock.elapsed
    note('the objects were deleted')
    if (settings.clears && (wasRefused || refusedWith === 'UNAUTHORIZED'))
      mark('objects were deleted because access was lost')
    else violate('access', `the store has no version any more, and the source has refused with ${refusedWith}`)
  }
}

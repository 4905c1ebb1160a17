import type { SourceError } from '../../contract/errors.js'
import type { Version } from '../../contract/version.js'

/** A history begins with a list, and ends with `EPOCH_CHANGED`, or when the objects are deleted after lost access. */
export class SourceHistory {
  readonly #listeners = new Set<(error: SourceError) => void>()
  /** The number of the last list that is in the store; 0 before the first one. */
  lists = 0
  /** Whether a list was committed, or saved content that the source has confirmed. */
  isListed = false
  /** Whether the objects were deleted because access was lost, until the next list. */
  isCleared = false
  /** Whether the store shows a history that has not ended. */
  isCurrent = false
  /** The version when access was lost, until the next list or the end of that history. */
  #lostAt: Version | undefined
  /** Counts the histories: one for the first list, and one for each list after `EPOCH_CHANGED` or lost access. */
  #number = 0
  /** Whether the store shows saved content that the source has not confirmed. */
  #isStale = false

  /** The number of the history that the store shows; undefined from its end to the next list. */
  get number(): number | undefined {
    return this.isCurrent ? this.#number : undefined
  }

  /** Saved content has a history before the source has confirmed it: positions of subscriptions are positions in it. */
  get shown(): number | undefined {
    return this.isCurrent || this.#isStale ? this.#number : undefined
  }

  restored(): void {
    this.#number++
    this.#isStale = true
  }

  confirmed(lists: number): void {
    this.isCurrent = true
    this.listed(lists)
  }

  /** Also called for saved content that the source had confirmed before. `lists` is the number of lists. */
  listed(lists: number): void {
    this.lists = lists
    this.isListed = true
    this.isCleared = false
    this.#lostAt = undefined
    if (!this.isCurrent) this.#number++
    this.isCurrent = true
    this.#isStale = false
  }

  /** `reached` is the version of the store, if its history is current. */
  cleared(reached: Version | undefined): void {
    this.#lostAt ??= reached
    this.isCleared = true
    this.isCurrent = false
    this.#isStale = false
  }

  /** Returns the last version of the history, if the store has shown it. */
  ended(reached: Version | undefined): Version | undefined {
    const at = reached ?? this.#lostAt
    this.isCurrent = false
    this.#isStale = false
    this.#lostAt = undefined
    return at
  }

  notify(error: SourceError): void {
    for (const listener of [...this.#listeners]) listener(error)
  }

  onEpochChange(listener: (error: SourceError) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}

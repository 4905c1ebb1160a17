import type { Version } from '../../../src/contract/version.js'
import type { Change } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import { isLike } from './taken-batch-checker.js'

/**
 * The least version of a subscription: that of the handled changes, as long as no change was merged. A change behind an
 * unhandled one does not count until that one is handled as well.
 */
export class VersionFloorChecker {
  readonly #entries: { readonly change: Change<Item>; delivered: Change<Item> | undefined }[] = []
  #last: Change<Item> | undefined
  /** Everything up to this version was handled. */
  version: Version | undefined

  enter(change: Change<Item>): void {
    this.#entries.push({ change, delivered: undefined })
  }

  delivered(change: Change<Item>): void {
    const entry = this.#entries.find((each) => each.delivered === undefined && isLike(each.change, change))
    if (entry !== undefined) entry.delivered = change
  }

  /** `isHandled`: whether the handler that was called with a change has settled. */
  checkStep(isHandled: (delivered: Change<Item>) => boolean): void {
    for (
      let first = this.#entries[0];
      first?.delivered !== undefined && isHandled(first.delivered);
      first = this.#entries[0]
    ) {
      this.#last = first.change
      this.#entries.shift()
    }
    // Changes of one version may belong to one commit.
    if (this.#last !== undefined && this.#last.version !== this.#entries[0]?.change.version)
      this.version = this.#last.version
  }
}

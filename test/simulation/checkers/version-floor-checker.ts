import type { Version } from '../../../src/contract/version.js'
import type { Change } from '../../../src/queue/change.js'
import type { Item } from '../backend/history.js'
import { isLike } from './taken-batch-checker.js'

/**
 * How far a subscription's version has to be at least: where everything was handled, as long as no change was merged. A
 * change that is handled behind one that is not moves nothing; once that is handled as well, both count.
 */
export class VersionFloorChecker {
  readonly #entries: { readonly change: Change<Item>; delivered: Change<Item> | undefined }[] = []
  #last: Change<Item> | undefined
  /** Everything up to here was handled. */
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
    // What is of one version may be of one commit.
    if (this.#last !== undefined && this.#last.version !== this.#entries[0]?.change.version)
      this.version = this.#last.version
  }
}

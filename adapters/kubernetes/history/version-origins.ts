import type { Version } from '../../../src/contract/version.js'

/** Of so many is known where they came from; the oldest are forgotten first, since who stops does not say so. */
const MAX_HELD = 1_000

/** The versions that somebody was given, and has not gone on from yet: each with the place that it came from. */
export class HeldVersions {
  #held: { readonly version: Version; readonly place: string }[] = []

  hold(version: Version, place: string): void {
    this.#held.push({ version, place })
    if (this.#held.length > MAX_HELD) this.#held.shift()
  }

  /**
   * Somebody goes on from there: gives the place that it came from, undefined where nobody knows. Who that is a version does not say:
   * where another place has given the same, it is that one, so that nobody ever goes on `here` who should not.
   */
  take(version: Version, here: string | undefined): string | undefined {
    const same = this.#held.filter((held) => held.version === version)
    const elsewhere = same.find(({ place }) => place !== here)
    const taken = same.find(({ place }) => place === here) ?? elsewhere
    this.#held = this.#held.filter((held) => held !== taken)
    return (elsewhere ?? taken)?.place
  }
}

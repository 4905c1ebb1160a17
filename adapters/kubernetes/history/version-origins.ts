import type { Version } from '../../../src/contract/version.js'

/** Of so many is known where they came from; the oldest are forgotten first, since who stops does not say so. */
const MAX_VERSIONS = 1_000

/** The versions that somebody was given, and has not gone on from yet: each with the clusterId that it came from. */
export class VersionOrigins {
  #origins: { readonly version: Version; readonly clusterId: string }[] = []

  record(version: Version, clusterId: string): void {
    this.#origins.push({ version, clusterId })
    if (this.#origins.length > MAX_VERSIONS) this.#origins.shift()
  }

  /**
   * Somebody goes on from there: gives the clusterId that it came from, undefined where nobody knows. Who that is a version does not say:
   * where another clusterId has given the matching, it is that one, so that nobody ever goes on `current` who should not.
   */
  take(version: Version, current: string | undefined): string | undefined {
    const matching = this.#origins.filter((origin) => origin.version === version)
    const other = matching.find(({ clusterId }) => clusterId !== current)
    const taken = matching.find(({ clusterId }) => clusterId === current) ?? other
    this.#origins = this.#origins.filter((origin) => origin !== taken)
    return (other ?? taken)?.clusterId
  }
}

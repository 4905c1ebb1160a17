import type { Version } from '../../../src/contract/version.js'

/** Most versions whose origin is kept. The oldest are dropped first, since a mirror that stops does not report it. */
const MAX_VERSIONS = 1_000

export class VersionOrigins {
  #origins: { readonly version: Version; readonly clusterId: string }[] = []

  record(version: Version, clusterId: string): void {
    this.#origins.push({ version, clusterId })
    if (this.#origins.length > MAX_VERSIONS) this.#origins.shift()
  }

  /**
   * Takes the cluster that issued `version`, or undefined if unknown. If two clusters issued the same version, returns
   * the one other than `current`, so that a stale reader is never treated as current.
   */
  take(version: Version, current: string | undefined): string | undefined {
    const matching = this.#origins.filter((origin) => origin.version === version)
    const other = matching.find(({ clusterId }) => clusterId !== current)
    const taken = matching.find(({ clusterId }) => clusterId === current) ?? other
    this.#origins = this.#origins.filter((origin) => origin !== taken)
    return (other ?? taken)?.clusterId
  }
}

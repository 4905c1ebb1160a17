import { SourceError } from '../../src/errors.js'
import type { Version } from '../../src/version.js'

/** Refuses what is no resourceVersion, as `PROTOCOL`. */
export function assertResourceVersion(version: Version): void {
  if (/^[1-9]\d{0,31}$/.test(version)) return
  const shown = version.length > 40 ? `${version.slice(0, 40)}…` : version
  throw new SourceError(`"${shown}" is no resourceVersion`, { code: 'PROTOCOL' })
}

/** Which of two is later: below 0, 0, or above 0. They are numbers, and may be larger than a number can be. */
export function compareVersions(a: Version, b: Version): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
}

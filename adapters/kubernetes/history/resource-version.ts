import { SourceError } from '../../../src/contract/errors.js'
import type { Version } from '../../../src/contract/version.js'

export function isResourceVersion(value: unknown): value is Version {
  return typeof value === 'string' && /^[1-9]\d{0,31}$/.test(value)
}

export function assertResourceVersion(version: Version): void {
  if (!isResourceVersion(version)) throw new SourceError(invalidVersionMessage(version), { code: 'PROTOCOL' })
}

export function invalidVersionMessage(value: unknown): string {
  const text = String(value)
  return `"${text.length > 40 ? `${text.slice(0, 40)}…` : text}" is not a resourceVersion`
}

/** Returns the version before this one. `1` stays: to a server `0` is any version. */
export function versionBefore(version: Version): Version {
  return version === '1' ? version : String(BigInt(version) - 1n)
}

/** Compares two versions: below 0, 0 or above 0. They are integers that may exceed a JavaScript number. */
export function compareVersions(a: Version, b: Version): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
}

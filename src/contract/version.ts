import { SourceError } from './errors.js'

/**
 * A position in one source's history. Opaque to the core, which only ever asks the source whether one includes another:
 * printable ASCII, 1 byte to 64 KiB. A *mark*, which a writer hands to a reader, is a version of at most 1 KiB, so
 * that it fits an HTTP header or an SSE id.
 */
export type Version = string

export const MAX_VERSION_BYTES: number = 64 * 1024

const printableAscii = /^[\x20-\x7e]+$/

/** Refuses a version that breaks the contract, as `PROTOCOL`: nothing may be resumed from it. */
export function assertVersion(version: unknown, of: string): asserts version is Version {
  const flaw = flawOf(version)
  if (flaw !== undefined) throw new SourceError(`${of} ${flaw}`, { code: 'PROTOCOL' })
}

/** The same for a version to wait for, which may come from outside: a header, a cookie. */
export function assertMark(mark: Version): void {
  assertVersion(mark, 'the version to wait for')
}

function flawOf(version: unknown): string | undefined {
  if (typeof version !== 'string')
    return `is ${version === undefined ? 'missing' : `a ${typeof version}`}, not a string`
  if (version === '') return 'is empty'
  if (version.length > MAX_VERSION_BYTES) return `has ${version.length} bytes; ${MAX_VERSION_BYTES} are allowed`
  if (!printableAscii.test(version)) return 'is not printable ASCII'
  return undefined
}

import { SourceError } from '../../src/contract/errors.js'
import { MAX_VERSION_BYTES, type Version } from '../../src/contract/version.js'

/** The position of a feed, and the version of the upstream source at it; empty if the mirror has none at the time. */
export interface HttpVersion {
  readonly feed: string
  readonly sequence: number
  readonly upstream: string
}

/** The code of a response to a version of another server, of another scope, or of a scope that was dropped. */
export const UNKNOWN_FEED = 'UNKNOWN_FEED'

/** The version of the protocol: the number in its versions. */
const PROTOCOL = 1
const pattern = /^h1\.([\w-]{22})\.(\d{1,15})\.([\x20-\x7e]*)$/

/** `h1.<feed>.<sequence>.<upstream>` */
export function formatVersion({ feed, sequence, upstream }: HttpVersion): Version {
  const own = `h1.${feed}.${sequence}.`
  return own.length + upstream.length > MAX_VERSION_BYTES ? own : own + upstream
}

/** Returns undefined if the text is not a version of a feed. */
export function parseVersion(version: Version): HttpVersion | undefined {
  const [, feed, sequence, upstream = ''] = pattern.exec(version) ?? []
  return feed === undefined ? undefined : { feed, sequence: Number(sequence), upstream }
}

/** `what`: "a list". Throws PROTOCOL if it is not a version of this version of the protocol. */
export function receivedVersion(version: unknown, what: string): HttpVersion {
  const text = typeof version === 'string' ? version : ''
  const parsed = parseVersion(text)
  if (parsed !== undefined) return parsed
  const number = protocolOf(text)
  throw number === undefined || number === PROTOCOL
    ? notServed(what)
    : new SourceError(
        `the server has version ${number} of the protocol, and this follower version ${PROTOCOL}: ` +
          'update the older one',
        { code: 'PROTOCOL' },
      )
}

/** Whether a text is a version of a follower with another version of the protocol. */
export function isOtherProtocol(version: string): boolean {
  return (protocolOf(version) ?? PROTOCOL) !== PROTOCOL
}

function protocolOf(version: string): number | undefined {
  const [, number] = /^h(\d{1,9})\./.exec(version) ?? []
  return number === undefined ? undefined : Number(number)
}

export function notServed(what: string): SourceError {
  return new SourceError(`the response is not ${what} of serveHttp`, { code: 'PROTOCOL' })
}

/** The part of a version that a server needs to resume a watch. Versions of an upstream can be too long for a URL. */
export function resumePoint({ feed, sequence }: HttpVersion): Version {
  return formatVersion({ feed, sequence, upstream: '' })
}

/** @throws SourceError PROTOCOL if it is not a version of a follower. `of` names the source. */
export function parsedVersion(version: Version, of: string): HttpVersion {
  const known = parseVersion(version)
  if (known === undefined) throw new SourceError(`the version is not one of ${of}`, { code: 'PROTOCOL' })
  return known
}

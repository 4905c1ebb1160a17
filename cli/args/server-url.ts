import { CliError } from '../output/cli-error.js'

/** How to encode characters that would end a user or a password. */
const ENCODING = 'in user and password # is %23, ? is %3F, / is %2F, @ is %40, % is %25'

export function withPlainScheme(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:/i, (scheme) => scheme.toLowerCase())
}

/** Throws for an invalid URL. The message does not repeat it, because any part of it may be a password. */
export function throwInvalidUrl(of: string, example: string): never {
  throw new CliError(`invalid URL of ${of}; it should look like ${example} (${ENCODING})`)
}

/**
 * Throws for a URL in which an unencoded character has cut off a password: a `#`, or an `@` after the host that is not
 * in the value of a parameter. Otherwise the first part of the password would be used and printed as host and port.
 */
export function assertCompleteUrl(url: string): void {
  const [, authority = '', rest = ''] = /^[^:/?#]*:\/\/([^/?#]*)(.*)$/s.exec(url) ?? []
  const isCut = authority !== '' && (/^[^=]*@/.test(rest) || /^\?.*@/s.test(rest))
  if (isCut || rest.includes('#')) throw new CliError(`the URL cannot be understood: ${ENCODING}`)
}

export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new CliError(`user and password must be encoded as in a URL: ${ENCODING}`)
  }
}

/** The address of a server for messages, without the password. */
export function shownAddress(scheme: string, username: string, password: string, rest: string): string {
  const user = password === '' ? username : `${username}:***`
  return `${scheme}://${user === '' ? '' : `${user}@`}${rest}`
}

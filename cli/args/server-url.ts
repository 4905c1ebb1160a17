import { CliError } from '../output/cli-error.js'

/** What ends a user or a password, unless it is written otherwise. */
const ENCODING = 'in user and password # is %23, ? is %3F, / is %2F, @ is %40, % is %25'

/** The URL with its scheme in small letters: case makes no difference there. */
export function withPlainScheme(url: string): string {
  return url.replace(/^[a-z][a-z0-9+.-]*:/i, (scheme) => scheme.toLowerCase())
}

/** Refuses what is no URL of a server. Nothing of it is repeated: it may hold a password anywhere. */
export function throwInvalidUrl(of: string, example: string): never {
  throw new CliError(`what was given is no URL of ${of}; it should look like ${example} (${ENCODING})`)
}

/**
 * Refuses a URL after whose host there is what must be a part of a password that was cut off: a `#`, or an `@` that is not the
 * value of a parameter. What stands before it would be taken, and told, as host and port.
 */
export function assertCompleteUrl(url: string): void {
  const [, authority = '', rest = ''] = /^[^:/?#]*:\/\/([^/?#]*)(.*)$/s.exec(url) ?? []
  const isCut = authority !== '' && (/^[^=]*@/.test(rest) || /^\?.*@/s.test(rest))
  if (isCut || rest.includes('#')) throw new CliError(`the URL cannot be understood: ${ENCODING}`)
}

/** A user or a password, as it was before it was written in a URL. */
export function decodedPart(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new CliError(`user and password must be written as URLs have them: ${ENCODING}`)
  }
}

/** A server, as it may be printed. */
export function shownAddress(scheme: string, username: string, password: string, rest: string): string {
  const user = password === '' ? username : `${username}:***`
  return `${scheme}://${user === '' ? '' : `${user}@`}${rest}`
}

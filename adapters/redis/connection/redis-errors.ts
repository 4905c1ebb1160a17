import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { propertiesOf } from '../../common/properties.js'
import { networkHint } from '../../common/source-errors.js'
import type { RedisArgument } from './client.js'

/**
 * The SourceError for an error of the driver, the network or the server. An unknown error is transient. The driver's
 * error is not kept, because it contains the arguments of the command, such as the password of AUTH. `command`: the
 * command, if it is known.
 */
export function redisError(thrown: unknown, command: readonly RedisArgument[] = []): SourceError {
  if (thrown instanceof SourceError) return thrown
  const said = redact(messageOf(thrown)).replace(/^EXECABORT Transaction discarded because of: /, '')
  const message = /^WRONGTYPE /.test(said) ? wrongType(said, command) : said
  const hint = hintFor(message)
  return new SourceError(message + (hint === '' ? '' : ` (${hint})`), {
    code: meaningOf(message),
    cause: redactError(thrown),
  })
}

/** Adds the key and the expected type, which an error of the server does not name. */
function wrongType(said: string, [name, ...args]: readonly RedisArgument[]): string {
  if (typeof name !== 'string' || !/^[HX]/.test(name)) return said
  const key = name === 'XREAD' ? args.at(-2) : args[name === 'XINFO' ? 1 : 0]
  return `WRONGTYPE ${key} is not a ${name.startsWith('X') ? 'stream' : 'hash'}`
}

const NOT_ALLOWED = /^NOPERM |^ERR The user executing the script can't|^ERR ACL failure in script/

export function isNotAllowed(thrown: unknown): boolean {
  return NOT_ALLOWED.test(messageOf(thrown))
}

/** The server is a replica: another one was promoted, or will be. */
export function isDemoted(thrown: unknown): boolean {
  return /^(READONLY|MASTERDOWN) |is a replica/.test(messageOf(thrown))
}

export function isMoved(thrown: unknown): boolean {
  return /^MOVED /.test(messageOf(thrown))
}

/** Another server has the keys now: another master of the cluster, or a promoted replica. */
export function isRedirected(thrown: unknown): boolean {
  return isMoved(thrown) || isDemoted(thrown)
}

/** The slot of the keys is being migrated to another server, which has some of its keys already. */
export function isSlotMigrating(thrown: unknown): boolean {
  return /^(ASK|TRYAGAIN) /.test(messageOf(thrown))
}

/** The server did not execute the command. The error may be one of the driver, or of `redisError`. */
export function isErrorReply(thrown: unknown): boolean {
  const { name, cause } = propertiesOf(thrown)
  return name === 'ReplyError' || propertiesOf(cause)['name'] === 'ReplyError'
}

/** The driver has refused to send the command: its connection had ended. */
export function isUnsent(thrown: unknown): boolean {
  return /^Stream isn't writeable/.test(messageOf(thrown))
}

function meaningOf(message: string): SourceErrorCode {
  if (/^(WRONGPASS|NOAUTH|DENIED) |invalid password|invalid username-password/.test(message) || isNotAllowed(message))
    return 'UNAUTHORIZED'
  if (/^WRONGTYPE |^ERR (unknown (sub)?command|DB index|invalid DB index|syntax error)/.test(message)) return 'PROTOCOL'
  return 'UNAVAILABLE'
}

function hintFor(message: string): string {
  const [, hint] = hints.find(([pattern]) => pattern.test(message)) ?? []
  return hint ?? networkHint(message, "check the client's option tls") ?? ''
}

const hints: readonly (readonly [RegExp, string])[] = [
  [
    /^Unknown RESP type|^Protocol error/,
    "the server is not Redis, or requires TLS: check the client's port and option tls",
  ],
  [/^(WRONGPASS|NOAUTH) |invalid password/, "check the client's username and password"],
  [/^WRONGTYPE /, 'another kind of value is stored there: choose another name, or delete that key'],
  [NOT_ALLOWED, 'see the guide for the ACL that is needed: ACL SETUSER <user> …'],
  [/^DENIED /, 'set a password on the server, and the same one in the client'],
  [/^READONLY |^MASTERDOWN /, "this is a replica: set the client's address to the master, or to the Sentinels"],
  [
    /^(MOVED|ASK) /,
    'another node of the cluster has the key: its slot was moved, or the client is a Redis instead of a Cluster',
  ],
  [/^ERR (invalid )?DB index/, "check the client's option db"],
  [/^OOM /, 'raise maxmemory, or delete keys'],
  [/sentinels? (is|are) unreachable/i, "check the client's sentinels and name"],
]

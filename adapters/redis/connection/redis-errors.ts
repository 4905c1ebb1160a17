import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { networkHint } from '../../shared/network-hints.js'
import type { RedisArgument } from './client.js'

/**
 * What an error of the driver, the network or the server means; what is not here is transient. The driver's own error is
 * not kept: it carries the command with all of its arguments, the password of AUTH among them. `command`: what was asked, where it is known.
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

/** Which key holds something else, and what belongs there: the server does not say it, and scripts of ours do. */
function wrongType(said: string, [name, ...args]: readonly RedisArgument[]): string {
  if (typeof name !== 'string' || !/^[HX]/.test(name)) return said
  const key = name === 'XREAD' ? args.at(-2) : args[name === 'XINFO' ? 1 : 0]
  return `WRONGTYPE ${key} is no ${name.startsWith('X') ? 'stream' : 'hash'}`
}

/** As the server says it of a command, and of a command in a script. */
const NOT_ALLOWED = /^NOPERM |^ERR The user executing the script can't|^ERR ACL failure in script/

/** The user may not use this command. */
export function isNotAllowed(thrown: unknown): boolean {
  return NOT_ALLOWED.test(messageOf(thrown))
}

/** The keys are served by somebody else now: another master of the cluster, or another server that was promoted. */
export function isRedirected(thrown: unknown): boolean {
  return /^(MOVED|READONLY|MASTERDOWN) |is a replica/.test(messageOf(thrown))
}

/** The slot of the keys is moving from this server to another: some or all of its keys are there already. */
export function isSlotMigrating(thrown: unknown): boolean {
  return /^(ASK|TRYAGAIN) /.test(messageOf(thrown))
}

/** An answer of the server, which has not done what it was asked to do; as it came, or as `redisError` made it. */
export function isErrorReply(thrown: unknown): boolean {
  const { name, cause } = Object(thrown) as { readonly name?: unknown; readonly cause?: unknown }
  return name === 'ReplyError' || (Object(cause) as { readonly name?: unknown }).name === 'ReplyError'
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
    "what answers there is no Redis, or wants TLS: check the client's port and option tls",
  ],
  [/^(WRONGPASS|NOAUTH) |invalid password/, "check the client's username and password"],
  [/^WRONGTYPE /, 'another kind of value is stored there: choose another name, or delete that key'],
  [NOT_ALLOWED, 'see the guide for the ACL that is needed: ACL SETUSER <user> …'],
  [/^DENIED /, 'give the server a password, and the client the same'],
  [/^READONLY |^MASTERDOWN /, 'this is a replica: give the client the address of the master, or of the Sentinels'],
  [/^(MOVED|ASK) /, 'another node of the cluster has the key: a Cluster finds it, a Redis does not'],
  [/^ERR (invalid )?DB index/, "check the client's option db"],
  [/^OOM /, 'raise maxmemory, or delete something'],
  [/sentinels? (is|are) unreachable/i, "check the client's sentinels and name"],
]

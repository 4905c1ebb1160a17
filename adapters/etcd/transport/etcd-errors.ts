import { messageOf, OptionError, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { networkHint } from '../../shared/network-hints.js'

/** gRPC's numbers, as far as etcd uses them. */
const INVALID_ARGUMENT = 3
const PERMISSION_DENIED = 7
const RESOURCE_EXHAUSTED = 8
const FAILED_PRECONDITION = 9
const OUT_OF_RANGE = 11
const UNIMPLEMENTED = 12
const UNAUTHENTICATED = 16

const CHECK_SCHEME = 'check the scheme of the endpoints and credentials: rootCertificate, privateKey, certChain'

/** gRPC's status code of an error; etcd3's errors have it only as the beginning of their message. */
export function statusOf(thrown: unknown): number | undefined {
  const { code } = Object(thrown) as { readonly code?: unknown }
  if (typeof code === 'number') return code
  const lead = /^(\d{1,2}) [A-Z_]+: /.exec(messageOf(thrown))
  return lead === null ? undefined : Number(lead[1])
}

/** What an error of gRPC or etcd means. What is not here is transient. */
export function etcdError(thrown: unknown): SourceError | OptionError {
  if (thrown instanceof SourceError || thrown instanceof OptionError) return thrown
  // What gRPC has nothing to say of it says nevertheless.
  const message = redact(messageOf(thrown)).replace(/\.? Resolution note: $/, '')
  const status = statusOf(thrown)
  return new SourceError(message + hintFor(status, message), {
    code: meaningOf(status, message),
    cause: redactError(thrown),
  })
}

export function isCompacted(thrown: unknown): boolean {
  return /required revision has been compacted/.test(messageOf(thrown))
}

/** The token is of no use any more; another one may be. */
export function isTokenError(thrown: unknown): boolean {
  return /invalid auth token|revision of auth store is old/.test(messageOf(thrown))
}

/** The answer is larger than this client takes. */
export function isTooLarge(thrown: unknown): boolean {
  return statusOf(thrown) === RESOURCE_EXHAUSTED && /larger than max/.test(messageOf(thrown))
}

function meaningOf(status: number | undefined, message: string): SourceErrorCode {
  if (isCompacted(message)) return 'VERSION_EXPIRED'
  if (isTokenError(message)) return 'UNAVAILABLE'
  switch (status) {
    case PERMISSION_DENIED:
    case UNAUTHENTICATED:
      return 'UNAUTHORIZED'
    case INVALID_ARGUMENT:
      return /authentication failed|user name/.test(message) ? 'UNAUTHORIZED' : 'PROTOCOL'
    case UNIMPLEMENTED:
      return 'PROTOCOL'
    case FAILED_PRECONDITION: // A learner, among others: another member will do.
    case OUT_OF_RANGE:
      return 'UNAVAILABLE'
    default:
      // What etcd3 makes of them has no number.
      if (/permission denied/.test(message)) return 'UNAUTHORIZED'
      return /authentication failed|user name is empty/.test(message) ? 'UNAUTHORIZED' : 'UNAVAILABLE'
  }
}

function hintFor(status: number | undefined, message: string): string {
  const hint = status === PERMISSION_DENIED ? undefined : networkHint(message, CHECK_SCHEME)
  if (hint !== undefined) return ` (${hint})`
  // So ends, by the moment, who is spoken to in TLS and does not understand it.
  if (/No connection established.*ECONNRESET/.test(message))
    return ` (whoever listens there breaks the connection off: check host and port; ${CHECK_SCHEME})`
  if (/Protocol error|Connection closed before/.test(message))
    return ' (what answers there is no etcd: check host and port)'
  if (/authentication failed|user name is empty/.test(message)) return ' (check auth: username, password)'
  if (/permission denied/.test(message))
    return ' (grant the role: etcdctl role grant-permission <role> read --prefix=true <prefix>)'
  if (status === RESOURCE_EXHAUSTED && /larger than max/.test(message))
    return " (give the client grpcOptions: { 'grpc.max_receive_message_length': -1 })"
  return status === UNIMPLEMENTED ? ' (this is no etcd of version 3)' : ''
}

import { messageOf, OptionError, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { propertiesOf } from '../../common/properties.js'
import { networkHint } from '../../common/source-errors.js'
import type { Header } from './etcd-messages.js'

const INVALID_ARGUMENT = 3
const PERMISSION_DENIED = 7
const RESOURCE_EXHAUSTED = 8
const UNIMPLEMENTED = 12
const UNAUTHENTICATED = 16

const CHECK_SCHEME = 'check the scheme of the endpoints and credentials: rootCertificate, privateKey, certChain'

/** Of a server that sends no cluster id, or refuses an option of a request that etcd has. */
const LOOK_ALIKE = 'the server is not etcd but kine, or another program that lacks a part of its protocol: use etcd'

/** Throws PROTOCOL for the header of a server that has the protocol of etcd only in part. */
export function assertEtcd({ clusterId }: Header): void {
  if (clusterId === '0') throw new SourceError(LOOK_ALIKE, { code: 'PROTOCOL' })
}

/** The gRPC status code of an error. Errors of etcd3 have it only at the beginning of their message. */
export function statusOf(thrown: unknown): number | undefined {
  const { code } = propertiesOf(thrown)
  if (typeof code === 'number') return code
  const lead = /^(\d{1,2}) [A-Z_]+: /.exec(messageOf(thrown))
  return lead === null ? undefined : Number(lead[1])
}

/** An unknown error is transient. `endpoint`: the server of the request. */
export function etcdError(thrown: unknown, endpoint?: string): SourceError | OptionError {
  if (thrown instanceof SourceError || thrown instanceof OptionError) return thrown
  // gRPC appends this note even if it is empty.
  const message = redact(messageOf(thrown)).replace(/\.? Resolution note: $/, '')
  const status = statusOf(thrown)
  return new SourceError(message + hintFor(status, message, endpoint), {
    code: meaningOf(status, message),
    cause: redactError(thrown),
  })
}

export function isCompacted(thrown: unknown): boolean {
  return /required revision has been compacted/.test(messageOf(thrown))
}

/** The token has expired: a new one may be accepted. */
export function isTokenError(thrown: unknown): boolean {
  return /invalid auth token|revision of auth store is old/.test(messageOf(thrown))
}

export function isUnimplemented(thrown: unknown): boolean {
  return statusOf(thrown) === UNIMPLEMENTED
}

/** The response is larger than the client accepts. */
export function isTooLarge(thrown: unknown): boolean {
  return statusOf(thrown) === RESOURCE_EXHAUSTED && /larger than max/.test(messageOf(thrown))
}

/** Of kine: "keysOnly is unsupported". */
function isOfLookAlike(message: string): boolean {
  return /\b\w+ is unsupported$/.test(message)
}

function meaningOf(status: number | undefined, message: string): SourceErrorCode {
  if (isCompacted(message)) return 'VERSION_EXPIRED'
  if (isTokenError(message)) return 'UNAVAILABLE'
  if (isOfLookAlike(message)) return 'PROTOCOL'
  if (status === PERMISSION_DENIED || status === UNAUTHENTICATED) return 'UNAUTHORIZED'
  // Some errors of etcd3 have no status code.
  if (/permission denied|authentication failed|user name is empty/.test(message)) return 'UNAUTHORIZED'
  if (status === INVALID_ARGUMENT) return /user name/.test(message) ? 'UNAUTHORIZED' : 'PROTOCOL'
  return status === UNIMPLEMENTED ? 'PROTOCOL' : 'UNAVAILABLE'
}

function hintFor(status: number | undefined, message: string, endpoint = 'the server'): string {
  const hint = status === PERMISSION_DENIED ? undefined : networkHint(message, CHECK_SCHEME)
  if (hint !== undefined) return ` (${hint})`
  // A server that does not speak TLS may reset the connection like this.
  if (/No connection established.*ECONNRESET/.test(message))
    return ` (${endpoint} reset the connection: check host and port; ${CHECK_SCHEME})`
  if (/Protocol error|Connection closed before/.test(message)) return ` (${endpoint} is not etcd: check host and port)`
  // A server with another protocol may end the connection like this.
  if (/No connection established.*Failed to connect/.test(message))
    return ` (${endpoint} ended the connection: is this an etcd server? check host and port; ${CHECK_SCHEME})`
  if (isOfLookAlike(message)) return ` (${LOOK_ALIKE})`
  if (/authentication failed|user name is empty/.test(message)) return ' (check auth: username, password)'
  if (/permission denied/.test(message))
    return ' (grant the role: etcdctl role grant-permission <role> read --prefix=true <prefix>)'
  if (status === RESOURCE_EXHAUSTED && /larger than max/.test(message))
    return " (set the client's grpcOptions: { 'grpc.max_receive_message_length': -1 })"
  return status === UNIMPLEMENTED ? ' (the server is not etcd 3)' : ''
}

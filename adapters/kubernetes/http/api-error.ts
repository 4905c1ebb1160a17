import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import { MAX_RETRY_AFTER_MS } from '../../common/retry-after.js'

/** The status of a failed request, or the object of an ERROR event of a watch. */
export interface ApiStatus {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly causes: readonly { readonly reason: string; readonly message: string; readonly field: string }[]
  readonly retryAfterMs: number | undefined
}

/** The target of a request, from which an error names the missing right. */
export interface RequestTarget {
  readonly verb: 'list' | 'watch' | 'get' | 'create' | 'update' | 'patch' | 'delete'
  readonly group?: string
  readonly plural?: string
  readonly namespace?: string | undefined
  /** All verbs that the caller needs. Default: `list` and `watch`. */
  readonly verbs?: readonly string[]
}

/** The status of the API server, as the cause of a SourceError. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal'
  readonly status: ApiStatus

  constructor(status: ApiStatus) {
    super(redact(status.message === '' ? `HTTP status ${status.code}` : status.message))
    this.status = status
  }
}

export function apiStatusIn(error: unknown): ApiStatus | undefined {
  const { cause } = propertiesOf(error)
  return cause instanceof ApiRefusal ? cause.status : undefined
}

/** A status without a known meaning is transient. `flaw` of the client certificate is the cause if there is one. */
export function apiError(status: ApiStatus, target: RequestTarget, flaw?: string): SourceError {
  const refusal = new ApiRefusal(status)
  const retryAfterMs = status.retryAfterMs && Math.min(status.retryAfterMs, MAX_RETRY_AFTER_MS)
  const message = refusal.message + (flaw === undefined ? hintFor(status, target) : ` (${flaw})`)
  return new SourceError(message, { code: codeFor(status), retryAfterMs, cause: refusal })
}

export function isExpired({ code, reason }: ApiStatus): boolean {
  return code === 410 || reason === 'Expired' || reason === 'Gone'
}

/** Whether the server has not reached the requested version, in the forms of three generations of servers. */
export function isTooLarge({ causes, message }: ApiStatus): boolean {
  return (
    causes.some((cause) => cause.reason === 'ResourceVersionTooLarge' || cause.message === TOO_LARGE) ||
    message.includes(TOO_LARGE)
  )
}

const TOO_LARGE = 'Too large resource version'

/** Reads a Status object. Fields that are missing or of another type are empty. */
export function statusOf(value: unknown, httpCode = 0): ApiStatus {
  const { code, reason, message, details } = propertiesOf(value)
  const { causes, retryAfterSeconds } = propertiesOf(details)
  return {
    code: typeof code === 'number' && code > 0 ? code : httpCode,
    reason: textOf(reason),
    message: textOf(message),
    causes: elementsOf(causes)
      .map(propertiesOf)
      .map(({ reason, message, field }) => ({
        reason: textOf(reason),
        message: textOf(message),
        field: textOf(field),
      })),
    retryAfterMs: typeof retryAfterSeconds === 'number' ? retryAfterSeconds * 1_000 : undefined,
  }
}

/** `flaw` of the client certificate is named if it may be the cause. A TLS alert about it is `UNAUTHORIZED`. */
export function connectionError(thrown: unknown, host: string, proxyUrl?: string, flaw?: string): SourceError {
  if (thrown instanceof SourceError) return thrown
  const reported = redact(messageOf(thrown))
  // Node reports only "aborted".
  const message = reported === 'aborted' ? 'the connection was closed in the middle of the answer' : reported
  const text =
    proxyUrl === undefined
      ? `${message}${connectionHint(message, host, flaw)}`
      : proxyMessage(message, proxyUrl, host, flaw)
  return new SourceError(text, {
    code: CERTIFICATE_ALERT.test(message) ? 'UNAUTHORIZED' : 'UNAVAILABLE',
    cause: redactError(thrown),
  })
}

function codeFor(status: ApiStatus): SourceErrorCode {
  if (isTooLarge(status)) return 'UNAVAILABLE'
  if (isExpired(status)) return 'VERSION_EXPIRED'
  const { code } = status
  if (code === 401 || code === 403) return 'UNAUTHORIZED'
  if (code === 404) return 'NOT_FOUND'
  return [400, 405, 406, 413, 415, 422].includes(code) ? 'PROTOCOL' : 'UNAVAILABLE'
}

function hintFor({ code, message }: ApiStatus, target: RequestTarget): string {
  switch (code) {
    case 401:
      return ' (the server does not know who we are: check the user of the current context)'
    case 403:
      return isMissingRight(message, target) ? ` (${missingRule(target)})` : ''
    case 400:
      if (/field (selector|label)/i.test(message)) return ' (check fieldSelector: the server knows few fields)'
      return /parse requirement|label (key|value)|found '.*', expected/i.test(message)
        ? ' (check labelSelector: app=web,tier!=cache,track in (stable,beta))'
        : ''
    case 404:
      return target.plural === undefined ? '' : ' (it may have been removed: kubectl api-resources)'
    default:
      return ''
  }
}

/** A write is also forbidden by a quota, an admission policy, Pod Security, and a namespace that is being deleted. */
function isMissingRight(message: string, { verb }: RequestTarget): boolean {
  const isRead = verb === 'list' || verb === 'watch' || verb === 'get'
  return isRead || / cannot \S+ (resource|path) /.test(message)
}

const DISCOVERY = 'nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]'

function missingRule({ group = '', plural, namespace, verbs = ['list', 'watch'] }: RequestTarget): string {
  // A request without a resource is one of discovery.
  if (plural === undefined)
    return `the missing RBAC rule: ${DISCOVERY}; the ClusterRole system:discovery has it: bind that`
  const rule = `apiGroups: ["${group}"], resources: ["${plural}"], verbs: [${verbs.map((verb) => `"${verb}"`).join(', ')}]`
  const kind = namespace === undefined ? 'clusterrole' : 'role'
  const [name = '', subresource] = plural.split('/')
  const resource = `${group === '' ? name : `${name}.${group}`}${subresource === undefined ? '' : `/${subresource}`}`
  const option = namespace === undefined ? '' : ` -n ${namespace}`
  const role = verbs.some((verb) => verb === 'update' || verb === 'patch') ? 'editor' : 'reader'
  return `the missing RBAC rule: ${rule}; kubectl create ${kind} ${plural.replace('/', '-')}-${role} --verb=${verbs.join(',')} --resource=${resource}${option}, and bind it`
}

/** A server that refuses a client certificate sends one of these TLS alerts, or closes the connection. */
const CERTIFICATE_ALERT = /alert (?:(?:bad |unsupported )?certificate|unknown ca)/i

function connectionHint(message: string, host: string, flaw: string | undefined): string {
  if (/ECONNREFUSED/.test(message)) return ` (no server listens at ${host}: check the cluster's server)`
  if (/ENOTFOUND|EAI_AGAIN/.test(message)) return ' (no such host: check the server of the cluster)'
  if (CERTIFICATE_ALERT.test(message))
    return ` (${flaw ?? 'the server refuses the client certificate: check the user of the current context'})`
  if (/certificate|self.signed|unable to verify|ALTNAME/i.test(message))
    return ' (check the certificate-authority-data of the cluster, and tls-server-name)'
  if (flaw !== undefined) return ` (${flaw})`
  return /wrong version number|EPROTO|SSL|TLS/i.test(message) ? ' (check the scheme of the server: https or http)' : ''
}

function proxyMessage(message: string, proxyUrl: string, host: string, flaw: string | undefined): string {
  const [, status] = /Bad response: (\d+)/.exec(message) ?? []
  if (status !== undefined) {
    const hint =
      status === '407'
        ? 'it requires credentials: proxy-url: http://user:password@host:port'
        : `may it connect to ${host}?`
    return `the proxy ${proxyUrl} refused the connection to ${host}: HTTP status ${status} (${hint})`
  }
  if (/certificate|alert unknown ca|self.signed|unable to verify|ALTNAME/i.test(message))
    return `${message}${connectionHint(message, host, flaw)} (through the proxy ${proxyUrl})`
  const also = flaw === undefined ? '' : `; ${flaw}`
  return `the proxy ${proxyUrl} failed: ${message} (check proxy-url of the cluster${also})`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

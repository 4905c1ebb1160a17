import { messageOf, SourceError, type SourceErrorCode } from '../../../src/contract/errors.js'
import { redact, redactError } from '../../../src/util/redact.js'

/** What the API server says of a request that failed: its own form, and in a watch the object of an ERROR event. */
export interface ApiStatus {
  readonly code: number
  readonly reason: string
  readonly message: string
  readonly causes: readonly { readonly reason: string; readonly message: string }[]
  readonly retryAfterMs: number | undefined
}

/** What was asked for, so that an error can say what mends it. */
export interface RequestTarget {
  readonly verb: 'list' | 'watch' | 'get'
  readonly group?: string
  readonly plural?: string
  readonly namespace?: string | undefined
}

/** What the API server said, as the cause of an error. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal'
  readonly status: ApiStatus

  constructor(status: ApiStatus) {
    super(redact(status.message === '' ? `HTTP status ${status.code}` : status.message))
    this.status = status
  }
}

/** What the API server said where it was the one that refused. */
export function apiStatusIn(error: unknown): ApiStatus | undefined {
  const { cause } = Object(error) as { readonly cause?: unknown }
  return cause instanceof ApiRefusal ? cause.status : undefined
}

/** What a failed request means. What is not here is transient. */
export function apiError(status: ApiStatus, asked: RequestTarget): SourceError {
  const refusal = new ApiRefusal(status)
  const retryAfterMs = status.retryAfterMs && Math.min(status.retryAfterMs, MAX_RETRY_AFTER_MS)
  const message = refusal.message + hintFor(status, asked)
  return new SourceError(message, { code: codeFor(status), retryAfterMs, cause: refusal })
}

/** The history from our version on is gone. */
export function isExpired({ code, reason }: ApiStatus): boolean {
  return code === 410 || reason === 'Expired' || reason === 'Gone'
}

/** The server has not got as far as our version: as servers of three ages say it. */
export function isTooLarge({ causes, message }: ApiStatus): boolean {
  return (
    causes.some((cause) => cause.reason === 'ResourceVersionTooLarge' || cause.message === TOO_LARGE) ||
    message.includes(TOO_LARGE)
  )
}

/** Nobody is left alone for longer, whatever a server or what stands before it says, in milliseconds. */
const MAX_RETRY_AFTER_MS = 600_000

const TOO_LARGE = 'Too large resource version'

/** A Status object; of anything else, what can be had. */
export function statusOf(value: unknown, httpCode = 0): ApiStatus {
  const { code, reason, message, details } = Object(value) as Readonly<Record<string, unknown>>
  const { causes, retryAfterSeconds } = Object(details) as Readonly<Record<string, unknown>>
  const all: readonly unknown[] = Array.isArray(causes) ? causes : []
  return {
    code: typeof code === 'number' && code > 0 ? code : httpCode,
    reason: textOf(reason),
    message: textOf(message),
    causes: all.map((cause) => {
      const each = Object(cause) as Readonly<Record<string, unknown>>
      return { reason: textOf(each['reason']), message: textOf(each['message']) }
    }),
    retryAfterMs: typeof retryAfterSeconds === 'number' ? retryAfterSeconds * 1_000 : undefined,
  }
}

/** Seconds, or a date; `now` is the time of who says it. */
export function retryAfterMsOf(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.trim() === '') return undefined
  const seconds = Number(header)
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1_000
  return Number.isFinite(ms) && ms > 0 ? ms : undefined
}

/** Why no answer came: name look-up, connection, TLS, or a peer that is gone. */
export function connectionError(thrown: unknown, host: string, proxyUrl?: string): SourceError {
  if (thrown instanceof SourceError) return thrown
  const said = redact(messageOf(thrown))
  // All that Node says of it.
  const message = said === 'aborted' ? 'the connection was closed in the middle of the answer' : said
  const text =
    proxyUrl === undefined ? `${message}${connectionHint(message, host)}` : proxyMessage(message, proxyUrl, host)
  return new SourceError(text, {
    code: 'UNAVAILABLE',
    cause: redactError(thrown),
  })
}

function codeFor(status: ApiStatus): SourceErrorCode {
  if (isTooLarge(status)) return 'UNAVAILABLE'
  if (isExpired(status)) return 'VERSION_EXPIRED'
  switch (status.code) {
    case 401:
    case 403:
      return 'UNAUTHORIZED'
    case 404:
      return 'NOT_FOUND'
    case 400:
    case 405:
    case 406:
    case 415:
    case 422:
      return 'PROTOCOL'
    default:
      return 'UNAVAILABLE'
  }
}

function hintFor({ code, message }: ApiStatus, asked: RequestTarget): string {
  switch (code) {
    case 401:
      return ' (the server does not know who we are: check the user of the current context)'
    case 403:
      return ` (${missingRule(asked)})`
    case 400:
      if (/field (selector|label)/i.test(message)) return ' (check fieldSelector: the server knows few fields)'
      return /parse requirement|label (key|value)|found '.*', expected/i.test(message)
        ? ' (check labelSelector: app=web,tier!=cache,track in (stable,beta))'
        : ''
    case 404:
      return asked.plural === undefined ? '' : ' (it may have been removed: kubectl api-resources)'
    default:
      return ''
  }
}

const DISCOVERY = 'nonResourceURLs: ["/api", "/api/*", "/apis", "/apis/*"], verbs: ["get"]'

/** The RBAC rule without which we were refused, and the command that makes it. */
function missingRule({ group = '', plural, namespace }: RequestTarget): string {
  // What is asked of no resource is which there are.
  if (plural === undefined)
    return `the missing RBAC rule: ${DISCOVERY}; the ClusterRole system:discovery has it: bind that`
  const rule = `apiGroups: ["${group}"], resources: ["${plural}"], verbs: ["list", "watch"]`
  const kind = namespace === undefined ? 'clusterrole' : 'role'
  const resource = group === '' ? plural : `${plural}.${group}`
  const where = namespace === undefined ? '' : ` -n ${namespace}`
  return `the missing RBAC rule: ${rule}; kubectl create ${kind} ${plural}-reader --verb=list,watch --resource=${resource}${where}, and bind it`
}

function connectionHint(message: string, host: string): string {
  if (/ECONNREFUSED/.test(message)) return ` (no server listens at ${host}: check the cluster's server)`
  if (/ENOTFOUND|EAI_AGAIN/.test(message)) return ' (no such host: check the server of the cluster)'
  if (/certificate|self.signed|unable to verify|ALTNAME/i.test(message))
    return ' (check the certificate-authority-data of the cluster, and tls-server-name)'
  return /wrong version number|EPROTO|SSL|TLS/i.test(message) ? ' (check the scheme of the server: https or http)' : ''
}

/** Says whether the proxy failed, or the server behind it. */
function proxyMessage(message: string, proxyUrl: string, host: string): string {
  const [, status] = /Bad response: (\d+)/.exec(message) ?? []
  if (status !== undefined) {
    const hint =
      status === '407'
        ? 'it wants credentials: proxy-url: http://user:password@host:port'
        : `may it connect to ${host}?`
    return `the proxy ${proxyUrl} refused the connection to ${host}: HTTP status ${status} (${hint})`
  }
  if (/certificate|self.signed|unable to verify|ALTNAME/i.test(message))
    return `${message}${connectionHint(message, host)} (through the proxy ${proxyUrl})`
  return `the proxy ${proxyUrl} failed: ${message} (check proxy-url of the cluster)`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

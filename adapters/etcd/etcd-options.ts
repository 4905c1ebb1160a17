import { X509Certificate } from 'node:crypto'
import { OptionError } from '../../src/contract/errors.js'
import { redact } from '../../src/util/redact.js'
import {
  checkOptions,
  isBoolean,
  isCount,
  isDelayOrInfinity,
  isName,
  isOneOf,
  isPositive,
  isString,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { type Properties, propertiesOf } from '../common/properties.js'
import { isCodec } from '../common/value-codec.js'
import { type EtcdClient, isEtcdClient } from './transport/etcd-client.js'
import { etcd3Transport } from './transport/etcd3-transport.js'
import { type EtcdAuth, type EtcdCredentials, grpcTransport } from './transport/grpc-transport.js'
import { isNothing, type KeyBytes, keyRange } from './transport/key-range.js'
import type { Transport } from './transport/transport.js'

/**
 * Returns the object for the value that is stored under a key. If it throws, this one object is invalid.
 *
 * @example
 * ```ts
 * import type { EtcdCodec } from 'listwatch/etcd'
 *
 * const decode: EtcdCodec<Limit> = (value, key) => {
 *   const [rps = 0, burst = 0] = new TextDecoder().decode(value).split('/').map(Number) // `5/10`
 *   return { tenant: key.slice('/limits/'.length), rps, burst }
 * }
 * const source = etcdSource({ client: etcd, prefix: '/limits/', codec: decode })
 * ```
 */
export type EtcdCodec<T> = (value: Uint8Array, key: string) => T

/**
 * `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte.
 *
 * @example
 * ```ts
 * const source = etcdSource<Uint8Array>({ client: etcd, prefix: 'hash/', codec: 'bytes', keys: 'bytes' })
 * const hashes = createInformer({ source })
 * const value = hashes.get(`hash/${Buffer.from('00ff', 'hex').toString('latin1')}`) // One character for each byte.
 * ```
 */
export type EtcdKeys = 'string' | 'bytes'

/**
 * Keys in byte order, from `from` (inclusive) to `to` (exclusive).
 *
 * @example
 * ```ts
 * const range = { from: '/jobs/2026-01', to: '/jobs/2026-07' } // January to June: `to` is exclusive.
 * const source = etcdSource<{ readonly state: string }>({ client: etcd, range })
 * ```
 */
export interface EtcdRange {
  /** The first key. `''` is the first key of the server. */
  readonly from: KeyBytes
  /** The end of the range, exclusive. Default: the range has no end. */
  readonly to?: KeyBytes
}

/**
 * The options of `etcdSource`: one of `client` and `endpoints`, and one of `prefix` and `range`.
 *
 * @example
 * ```ts
 * const source = etcdSource<Limit>({
 *   endpoints: ['https://etcd-1:2379', 'https://etcd-2:2379'],
 *   prefix: '/limits/',
 *   pageSize: 2_000, // Default: 10 000 keys.
 *   heartbeatMs: 4_000, // Default: 10 000.
 *   timeoutMs: 6_000, // Default: 15 000.
 * })
 * ```
 */
export interface EtcdSourceOptions<T> {
  /**
   * An `Etcd3` of the package etcd3 1.x, instead of `endpoints`. The source never closes it: stop the informer before
   * you do.
   */
  readonly client?: EtcdClient
  /**
   * One or several members, such as `localhost:2379` or `https://etcd-1:2379`. The source tries them in turn. It needs
   * the package @grpc/grpc-js.
   */
  readonly endpoints?: string | readonly string[]
  /** All keys with this prefix, instead of `range`. It must not be empty. */
  readonly prefix?: KeyBytes
  /** A range of keys, instead of `prefix`. */
  readonly range?: EtcdRange
  /** How a value becomes an object: `json` (default), `string` (UTF-8), `bytes`, or a function. */
  readonly codec?: 'json' | 'string' | 'bytes' | EtcdCodec<T>
  /** `string` (default): keys are UTF-8. `bytes`: a key is a string with one character for each byte. */
  readonly keys?: EtcdKeys
  /**
   * TLS certificates, for `endpoints`, or a function that returns them, which is called before each connection. Default:
   * no TLS, or the system's certificates for `https:` endpoints.
   */
  readonly credentials?: EtcdCredentials | (() => EtcdCredentials | Promise<EtcdCredentials>)
  /**
   * User name and password, for `endpoints`, or a function that returns them, which is called before each connection.
   * Default: no authentication.
   */
  readonly auth?: EtcdAuth | (() => EtcdAuth | Promise<EtcdAuth>)
  /**
   * The maximum number of keys of one request. Default 10 000, because etcd counts all keys of the range for each page.
   */
  readonly pageSize?: number
  /**
   * A watch that is more than this many revisions behind lists instead, which costs the server less. Default 20 000.
   */
  readonly maxCatchup?: number
  /** Whether a member without a leader ends the watch. If false, such a watch is silent. Default true. */
  readonly requireLeader?: boolean
  /**
   * The longest silence of a healthy watch, in milliseconds. After half of it, the source requests the server's current
   * revision. Default 10 000.
   */
  readonly heartbeatMs?: number
  /**
   * A request without a response, or a watch that is silent, counts as lost after this many milliseconds. It must be
   * more than `heartbeatMs`. Default 15 000.
   */
  readonly timeoutMs?: number
}

/**
 * Options of `etcdCluster`: those of `etcdSource` that do not concern one range.
 *
 * @example
 * ```ts
 * import { etcdCluster } from 'listwatch/etcd'
 *
 * const shop = etcdCluster({ endpoints: ['https://etcd-1:2379', 'https://etcd-2:2379'], holdMs: 5_000 })
 * ```
 */
export interface EtcdClusterOptions extends Omit<EtcdSourceOptions<unknown>, keyof EtcdCollectionOptions<unknown>> {
  /**
   * If a collection has to be listed again, the others stay at the last common version for at most this time, in
   * milliseconds. `Infinity` has no limit. Default 30 000.
   */
  readonly holdMs?: number
}

/**
 * Options of a collection of `etcdCluster`: one of `prefix` and `range`. Collections may have common keys.
 *
 * @example
 * ```ts
 * import { type EtcdCollectionOptions, etcdCluster } from 'listwatch/etcd'
 *
 * const limits: EtcdCollectionOptions<Limit> = { prefix: '/shop/limits/' }
 * const source = etcdCluster({ client: etcd }).collection(limits)
 * ```
 */
export type EtcdCollectionOptions<T> = Pick<EtcdSourceOptions<T>, 'prefix' | 'range' | 'codec' | 'keys' | 'pageSize'>

export const HEARTBEAT_MS = 10_000
export const TIMEOUT_MS = 15_000
const MAX_SHOWN = 60

const isBytes = (value: unknown): boolean => value instanceof Uint8Array
const isPem: OptionCheck = (value) => (isBytes(value) ? undefined : 'must be PEM in a Buffer')
const isKeyBytes: OptionCheck = (value) =>
  typeof value === 'string' || isBytes(value) ? undefined : 'must be a string or bytes'

const isCertificate: OptionCheck = (value) => {
  if (!(value instanceof Uint8Array)) return isPem(value)
  try {
    return new X509Certificate(value) && undefined
  } catch {
    return 'must be a certificate in PEM, which this is not'
  }
}

const isEndpoint = (value: unknown): boolean => {
  if (typeof value !== 'string' || !/^(https?:\/\/)?[^/\s@?#]+\/?$/.test(value)) return false
  return URL.canParse(/^https?:/.test(value) ? value : `http://${value}`)
}

/** The endpoint as a message shows it. All before an `@` may be a password. */
function shownEndpoint(value: unknown): string {
  if (typeof value !== 'string') return `a value of type ${typeof value}`
  const safe = redact(value.replace(/^(\w+:\/\/)?.*@/s, '$1***@'))
  return `"${safe.length > MAX_SHOWN ? `${safe.slice(0, MAX_SHOWN)}…` : safe}"`
}

const isEndpoints: OptionCheck = (value) => {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  const wrong = all.findIndex((each) => !isEndpoint(each))
  if (all.length === 0 || wrong !== -1) {
    const which = wrong === -1 ? '' : `, but ${shownEndpoint(all[wrong])} is not one`
    return `must be host:port, http://host:port or https://host:port, or an array of these${which}`
  }
  const secure = all.filter((each) => String(each).startsWith('https:')).length
  return secure === 0 || secure === all.length ? undefined : 'must not mix https with others'
}

export type EtcdConnectionOptions = Pick<EtcdSourceOptions<unknown>, 'client' | 'endpoints' | 'credentials' | 'auth'>

export const connectionChecks: Readonly<Record<keyof EtcdConnectionOptions, OptionCheck>> = {
  client: (value) => (isEtcdClient(value) ? undefined : 'must be an Etcd3 of the package etcd3 1.x'),
  endpoints: isEndpoints,
  credentials: (value) =>
    typeof value !== 'function' && propertiesOf(value)['rootCertificate'] === undefined
      ? 'must have a rootCertificate'
      : undefined,
  auth: (value) => {
    if (typeof value === 'function') return undefined
    const { username, password } = propertiesOf(value)
    return username === undefined || password === undefined ? 'must be an object with username and password' : undefined
  },
}

const clusterChecks: Readonly<Record<keyof Omit<EtcdClusterOptions, 'holdMs'>, OptionCheck>> = {
  ...connectionChecks,
  maxCatchup: isCount,
  requireLeader: isBoolean,
  heartbeatMs: isPositive,
  timeoutMs: isPositive,
}

const collectionChecks: Readonly<Record<keyof EtcdCollectionOptions<unknown>, OptionCheck>> = {
  prefix: (value) =>
    value === '' || (value instanceof Uint8Array && value.length === 0)
      ? "must not be empty; for all keys of the server say range: { from: '' }"
      : isKeyBytes(value),
  range: (value) =>
    isKeyBytes(propertiesOf(value)['from']) === undefined ? undefined : 'must be { from, to? }, strings or bytes',
  codec: isCodec,
  keys: isOneOf('string', 'bytes'),
  pageSize: isCount,
}

/** Throws an OptionError that names the option and says what is allowed. */
export function checkEtcdOptions<T>(options: EtcdSourceOptions<T>): void {
  checkOptions('etcdSource', options, { ...clusterChecks, ...collectionChecks })
  checkCluster('etcdSource', options)
  checkRange('etcdSource', options)
}

export function checkClusterOptions(options: EtcdClusterOptions): void {
  checkOptions('etcdCluster', options, { ...clusterChecks, holdMs: isDelayOrInfinity })
  checkCluster('etcdCluster', options)
}

export function checkCollectionOptions<T>(options: EtcdCollectionOptions<T>): void {
  checkOptions('collection', options, collectionChecks)
  checkRange('collection', options)
}

function checkCluster(call: string, options: EtcdClusterOptions): void {
  checkConnection(call, options)
  const { heartbeatMs = HEARTBEAT_MS, timeoutMs = TIMEOUT_MS } = options ?? {}
  if (timeoutMs > heartbeatMs) return
  const message = `option "timeoutMs" must be more than heartbeatMs (${heartbeatMs}), got ${timeoutMs}`
  throw wrong(call, message, 'timeoutMs')
}

function checkRange<T>(call: string, options: EtcdCollectionOptions<T>): void {
  const { range } = options ?? {}
  checkOptions(`${call}: range`, range, { from: isKeyBytes, to: isKeyBytes })
  assertOneOf(call, propertiesOf(options), 'prefix', 'range', 'give either "prefix" or "range"')
  if (range !== undefined && isNothing(keyRange(range.from, range.to)))
    throw wrong(call, 'range: nothing lies between "from" and "to"; "from" comes before "to"', 'range')
}

/** Checks what `connectionChecks` cannot. `call`: the function that the user called. */
export function checkConnection(call: string, options: EtcdConnectionOptions): void {
  const { client, auth, credentials } = options ?? {}
  checkLogin(call, {
    auth: typeof auth === 'function' ? undefined : auth,
    credentials: typeof credentials === 'function' ? undefined : credentials,
  })
  assertOneOf(call, propertiesOf(options), 'client', 'endpoints', 'give either "client" (an Etcd3) or "endpoints"')
  if (client !== undefined && (auth !== undefined || credentials !== undefined)) {
    const option = auth === undefined ? 'credentials' : 'auth'
    throw wrong(call, '"auth" and "credentials" belong to "endpoints"; a client has its own', option)
  }
}

/** Checks a user and certificates, also those that a function has returned. */
export function checkLogin(
  call: string,
  { auth, credentials }: { readonly auth: EtcdAuth | undefined; readonly credentials: EtcdCredentials | undefined },
): void {
  checkOptions(`${call}: auth`, auth, { username: isName, password: isString })
  checkOptions(`${call}: credentials`, credentials, {
    rootCertificate: isCertificate,
    privateKey: isPem,
    certChain: isPem,
  })
  if ((credentials?.privateKey === undefined) !== (credentials?.certChain === undefined))
    throw wrong(call, 'credentials: "privateKey" and "certChain" belong together', 'credentials')
}

/** `call`: the function that the user called, for errors. */
export function transportOf(options: EtcdConnectionOptions, call: string): Transport {
  const { client, endpoints = [], auth, credentials } = options
  if (client !== undefined) return etcd3Transport(client, call)
  return grpcTransport({ endpoints: [endpoints].flat(), auth, credentials, check: checkLogin, call })
}

/** Throws unless exactly one of two options has a value. */
function assertOneOf(call: string, given: Properties, first: string, second: string, message: string): void {
  const hasFirst = given[first] !== undefined
  if (hasFirst !== (given[second] !== undefined)) return
  // The error names an option that is present without a value, rather than the absent one.
  throw wrong(call, message, !hasFirst && Object.hasOwn(given, second) ? second : first)
}

function wrong(call: string, message: string, option: string): OptionError {
  return new OptionError(`${call}: ${message}`, { option })
}

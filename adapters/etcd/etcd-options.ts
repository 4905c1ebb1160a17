import { X509Certificate } from 'node:crypto'
import { OptionError } from '../../src/contract/errors.js'
import {
  checkOptions,
  isBoolean,
  isCount,
  isName,
  isOneOf,
  isPositive,
  isString,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { isCodec } from '../shared/value-codec.js'
import type { EtcdCodec, EtcdKeys } from './codec.js'
import { type EtcdClient, isEtcdClient } from './transport/etcd3-transport.js'
import type { EtcdAuth, EtcdCredentials } from './transport/grpc-transport.js'
import { isNothing, type KeyBytes, keyRange } from './transport/key-range.js'

/** From `from` on, up to but without `to`; without `to`, all that come after. */
export interface EtcdRange {
  readonly from: KeyBytes
  readonly to?: KeyBytes
}

export interface EtcdSourceOptions<T> {
  /** Your own `Etcd3` of the package etcd3; or give `endpoints`. It stays yours: the source never closes it. */
  readonly client?: EtcdClient
  /** `localhost:2379`, `https://etcd-1:2379`: tried one after the other. Needs the package @grpc/grpc-js. */
  readonly endpoints?: string | readonly string[]
  /** All keys that begin so; or give `range`. */
  readonly prefix?: KeyBytes
  /** Keys in their order as bytes. */
  readonly range?: EtcdRange
  /** What values are: `json` (default), `string` (UTF-8), `bytes`, or a function that makes an object of one. */
  readonly codec?: 'json' | 'string' | 'bytes' | EtcdCodec<T>
  /** Keys are UTF-8 (`string`, the default), or strings with one character for each byte (`bytes`). */
  readonly keys?: EtcdKeys
  /** TLS, with `endpoints`. */
  readonly credentials?: EtcdCredentials
  /** Who reads, with `endpoints`. */
  readonly auth?: EtcdAuth
  /** Most keys that one request asks for. Default 10 000: etcd looks at all keys on every page. */
  readonly pageSize?: number
  /** Further behind than so many revisions, all is read again, which is cheaper for the server. Default 20 000. */
  readonly maxCatchup?: number
  /** Whether a member without a leader ends the watch; else it is silent. Default true. */
  readonly requireLeader?: boolean
  /** After so many milliseconds of silence the server is asked where it is. Default 5 000. */
  readonly progressMs?: number
  /** What is not answered for so many milliseconds counts as lost. Default 15 000. */
  readonly stallMs?: number
}

export const PROGRESS_MS = 5_000
export const STALL_MS = 15_000

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

const isEndpoints: OptionCheck = (value) => {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (all.length === 0 || !all.every(isEndpoint))
    return 'must be host:port, http://host:port or https://host:port, or an array of these'
  const secure = all.filter((each) => String(each).startsWith('https:')).length
  return secure === 0 || secure === all.length ? undefined : 'must not mix https with others'
}

const optionChecks: Readonly<Record<keyof EtcdSourceOptions<unknown>, OptionCheck>> = {
  client: (value) => (isEtcdClient(value) ? undefined : 'must be an Etcd3 of the package etcd3 1.x'),
  endpoints: isEndpoints,
  prefix: (value) =>
    value === '' || (value instanceof Uint8Array && value.length === 0)
      ? "must not be empty; for all keys of the server say range: { from: '' }"
      : isKeyBytes(value),
  range: (value) =>
    isKeyBytes((Object(value) as Partial<EtcdRange>).from) === undefined
      ? undefined
      : 'must be { from, to? }, strings or bytes',
  codec: isCodec,
  keys: isOneOf('string', 'bytes'),
  credentials: (value) =>
    (Object(value) as Partial<EtcdCredentials>).rootCertificate === undefined
      ? 'must have a rootCertificate'
      : undefined,
  auth: (value) => {
    const { username, password } = Object(value) as Partial<EtcdAuth>
    return username === undefined || password === undefined ? 'must be an object with username and password' : undefined
  },
  pageSize: isCount,
  maxCatchup: isCount,
  requireLeader: isBoolean,
  progressMs: isPositive,
  stallMs: isPositive,
}

/** Throws a TypeError that names the option and says what is allowed. */
export function checkEtcdOptions<T>(options: EtcdSourceOptions<T>): void {
  checkOptions('etcdSource', options, optionChecks)
  const { client, endpoints, prefix, range, auth, credentials } = options ?? {}
  const { progressMs = PROGRESS_MS, stallMs = STALL_MS } = options ?? {}
  checkOptions('etcdSource: range', range, { from: isKeyBytes, to: isKeyBytes })
  checkOptions('etcdSource: auth', auth, { username: isName, password: isString })
  checkOptions('etcdSource: credentials', credentials, {
    rootCertificate: isCertificate,
    privateKey: isPem,
    certChain: isPem,
  })
  if ((client === undefined) === (endpoints === undefined)) {
    // An option that is there without a value is the mistake, not the one that is absent.
    const option = client === undefined && Object.hasOwn(Object(options), 'endpoints') ? 'endpoints' : 'client'
    throw new OptionError('etcdSource: give either "client" (an Etcd3) or "endpoints"', { option })
  }
  if ((prefix === undefined) === (range === undefined))
    throw new TypeError('etcdSource: give either "prefix" or "range"')
  if (client !== undefined && (auth !== undefined || credentials !== undefined))
    throw new TypeError('etcdSource: "auth" and "credentials" belong to "endpoints"; a client has its own')
  if ((credentials?.privateKey === undefined) !== (credentials?.certChain === undefined))
    throw new TypeError('etcdSource: credentials: "privateKey" and "certChain" belong together')
  if (range !== undefined && isNothing(keyRange(range.from, range.to)))
    throw new TypeError('etcdSource: range: nothing lies between "from" and "to"; "from" comes before "to"')
  if (stallMs <= progressMs)
    throw new TypeError(`etcdSource: option "stallMs" must be more than progressMs (${progressMs}), got ${stallMs}`)
}

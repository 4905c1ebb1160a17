import { OptionError } from '../../src/contract/errors.js'
import {
  assertPresent,
  checkOptions,
  isBoolean,
  isCount,
  isName,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { propertiesOf } from '../common/properties.js'
import { isKubeConfig, type KubeConfigProvider } from './http/credentials.js'
import type { KubernetesShard } from './shard.js'

/**
 * The options of `kubernetesSource`.
 *
 * @example
 * ```ts
 * const source = kubernetesSource<Wire<V1Pod>>({
 *   kubeConfig,
 *   kind: 'Pod', // With `apiVersion: 'apps/v1'` for example a `Deployment`. Default: `v1`.
 *   labelSelector: 'app=web',
 *   fieldSelector: 'spec.nodeName=node-1',
 *   pageSize: 1_000, // Default: 500.
 *   maxWatchMs: 120_000, // Default: 600 000.
 * })
 * ```
 */
export interface KubernetesSourceOptions {
  /**
   * A KubeConfig of @kubernetes/client-node, or a function that returns one. The function is called again before the
   * next connection when a connection failed or the server rejected the credentials or the user.
   */
  readonly kubeConfig: KubeConfigProvider
  /** The API version as in a manifest: `v1`, `apps/v1`, `example.com/v1`. Default `v1`. */
  readonly apiVersion?: string
  /** The kind as in a manifest: `Pod`. Exactly one of `kind` and `plural` is required. */
  readonly kind?: string
  /** The name as in a path: `pods`. */
  readonly plural?: string
  /** The namespace to list and watch. Default: all namespaces. */
  readonly namespace?: string | undefined
  /** Only objects with these labels: `app=web,tier!=cache`. Default: all objects. */
  readonly labelSelector?: string | undefined
  /**
   * Only objects with these field values: `status.phase=Running`. The server supports few fields for each kind.
   * Default: all objects.
   */
  readonly fieldSelector?: string | undefined
  /**
   * Only the objects of one part of the collection: `{ index: 0, count: 3 }`. The parts are about equal, disjoint, and
   * together the collection; an object stays in its part. Needs Kubernetes 1.36 or later with the feature gate
   * `ShardedListAndWatch`; other servers are detected. Default: all objects.
   */
  readonly shard?: KubernetesShard | undefined
  /** Whether the server sends only `metadata` of each object. Default false. */
  readonly metadataOnly?: boolean
  /** Whether `metadata.managedFields` is removed from each object. Default true. */
  readonly stripManagedFields?: boolean
  /** Whether lists are streamed if the server supports it. Default true. */
  readonly streamingLists?: boolean
  /** Most objects that one request of a paged list, or of an audit, returns. Default 500. */
  readonly pageSize?: number
  /** A larger object is invalid, in bytes. Default 16 MiB. */
  readonly maxObjectBytes?: number
  /**
   * The longest life of one watch, in milliseconds. Each life is drawn at random from the upper half. An open watch
   * keeps the rights it was opened with, so revoked rights continue for as long. At least 60 000; default 600 000.
   */
  readonly maxWatchMs?: number
  /**
   * A watch without data for this number of milliseconds continues over another connection. The server sends a bookmark
   * about once a minute: a shorter time replaces healthy watches. Default 75 000.
   */
  readonly heartbeatMs?: number
  /**
   * After this number of milliseconds without data, a request over another connection reads what the watch has missed.
   * It detects a half-open connection, and costs two small requests each time. Default 20 000; `false`: never.
   */
  readonly probeMs?: number | false | undefined
  /**
   * A request without an answer for this number of milliseconds fails. A streamed list without progress is then read in
   * pages. Default 15 000.
   */
  readonly timeoutMs?: number
}

/** Half of it, the shortest life of a watch, is as long as the longest backoff of the core, in milliseconds. */
const SHORTEST_WATCH_MS = 60_000

export const isNamespace: OptionCheck = (value) =>
  typeof value === 'string' && /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(value)
    ? undefined
    : 'must be the name of a namespace: at most 63 small letters, digits and "-"'
const isNamespaces: OptionCheck = (value) =>
  Array.isArray(value) &&
  value.every((each) => isNamespace(each) === undefined) &&
  new Set<unknown>(value).size === value.length
    ? undefined
    : 'must be an array of names of namespaces, each once: small letters, digits and "-"'
const isApiVersion: OptionCheck = (value) =>
  typeof value === 'string' && /^([a-z0-9]+([.-]+[a-z0-9]+)*\/)?v[a-z0-9]+$/.test(value) && !value.includes('..')
    ? undefined
    : 'must be as in a manifest: v1, apps/v1, example.com/v1'
const isWord: OptionCheck = (value) =>
  typeof value === 'string' && /^[A-Za-z][A-Za-z0-9-]*$/.test(value) ? undefined : 'must be a word: Pod, pods'

const isShard: OptionCheck = (value) => {
  const { index, count, ...others } = propertiesOf(value)
  const isValid =
    Number.isSafeInteger(index) &&
    Number.isSafeInteger(count) &&
    Number(index) >= 0 &&
    Number(index) < Number(count) &&
    Object.keys(others).length === 0
  return isValid ? undefined : 'must be { index, count }: integers, index from 0 and less than count'
}

export const isConfigProvider: OptionCheck = (value) =>
  typeof value === 'function' || isKubeConfig(value)
    ? undefined
    : 'must be a KubeConfig of @kubernetes/client-node, or a function that returns one'

export const CONFIG_EXAMPLE = 'const kubeConfig = new KubeConfig(); kubeConfig.loadFromDefault()'

const optionChecks: Readonly<Record<keyof KubernetesSourceOptions, OptionCheck>> = {
  kubeConfig: isConfigProvider,
  apiVersion: isApiVersion,
  kind: isWord,
  plural: isWord,
  namespace: isNamespace,
  labelSelector: isName,
  fieldSelector: isName,
  shard: isShard,
  metadataOnly: isBoolean,
  stripManagedFields: isBoolean,
  streamingLists: isBoolean,
  pageSize: isCount,
  maxObjectBytes: isCount,
  maxWatchMs: (value) =>
    isPositive(value) ?? (Number(value) >= SHORTEST_WATCH_MS ? undefined : `must be at least ${SHORTEST_WATCH_MS}`),
  heartbeatMs: isPositive,
  probeMs: (value) => (value === false ? undefined : isPositive(value)),
  timeoutMs: isPositive,
}

/** Throws an `OptionError` that names the option and the allowed values. */
export function checkSourceOptions(
  options: KubernetesSourceOptions & { readonly namespaces?: readonly string[] | undefined },
): void {
  checkOptions('kubernetesSource', options, { ...optionChecks, namespaces: isNamespaces })
  assertPresent('kubernetesSource', options, 'kubeConfig', CONFIG_EXAMPLE)
  const { kind, plural } = options
  if ((kind === undefined) === (plural === undefined))
    throw new OptionError('kubernetesSource: give either "kind" (Pod) or "plural" (pods)', { option: 'kind' })
}

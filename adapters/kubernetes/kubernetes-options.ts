import { OptionError } from '../../src/contract/errors.js'
import {
  checkOptions,
  isBoolean,
  isCount,
  isName,
  isPositive,
  type OptionCheck,
} from '../../src/util/validate-options.js'
import { isKubeConfig, type KubeConfigProvider } from './http/credentials.js'

export interface KubernetesSourceOptions {
  /** Your own KubeConfig of @kubernetes/client-node; or what makes one, which is called again where the server refuses it. */
  readonly kubeConfig: KubeConfigProvider
  /** As in a manifest: `v1` (default), `apps/v1`, `example.com/v1`. */
  readonly apiVersion?: string
  /** As in a manifest: `Pod`; or give `plural`. */
  readonly kind?: string
  /** As in a path: `pods`. */
  readonly plural?: string
  /** Default: all namespaces. */
  readonly namespace?: string | undefined
  /** `app=web,tier!=cache` */
  readonly labelSelector?: string | undefined
  /** `status.phase=Running` */
  readonly fieldSelector?: string | undefined
  /** Only `metadata` of each object, which is all that the server sends then. Default false. */
  readonly metadataOnly?: boolean
  /** Whether `metadata.managedFields`, who wrote which field, is left out. Default true. */
  readonly stripManagedFields?: boolean
  /** Whether the server is asked to stream lists, where it can. Default true. */
  readonly streamingLists?: boolean
  /** Most objects that one request of a list in pages, or of an audit, asks for. Default 500. */
  readonly pageSize?: number
  /** An object that is larger counts as invalid. Default 16 MiB. */
  readonly maxObjectBytes?: number
  /**
   * The longest time that one watch stays open, in milliseconds; how long each does is drawn from the upper half. An
   * open watch outlives the rights it was opened with, so that is also how long revoked rights go on. At least 60 000; default 600 000.
   */
  readonly maxWatchMs?: number
  /**
   * After so many milliseconds without a word the watch goes on over another connection. Default 75 000: the server says where it
   * is once a minute and a little later, and what is less than that takes healthy watches for dead ones.
   */
  readonly heartbeatMs?: number
  /**
   * After this number of milliseconds without data a request over another connection asks the server what the watch has missed. It
   * finds a half-open connection. It costs two small requests each time. Default 20 000; `false`: never.
   */
  readonly probeMs?: number | false | undefined
  /** What is not answered for so many milliseconds counts as lost; a list that is not streamed on is read in pages. Default 15 000. */
  readonly stallMs?: number
}

/** Half of it, which is the shortest life of a watch, is as long as the core ever waits from one opening to the next, in milliseconds. */
const SHORTEST_WATCH_MS = 60_000

const isNamespace: OptionCheck = (value) =>
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

const optionChecks: Readonly<Record<keyof KubernetesSourceOptions, OptionCheck>> = {
  kubeConfig: (value) =>
    typeof value === 'function' || isKubeConfig(value)
      ? undefined
      : 'must be a KubeConfig of @kubernetes/client-node, or a function that gives one',
  apiVersion: isApiVersion,
  kind: isWord,
  plural: isWord,
  namespace: isNamespace,
  labelSelector: isName,
  fieldSelector: isName,
  metadataOnly: isBoolean,
  stripManagedFields: isBoolean,
  streamingLists: isBoolean,
  pageSize: isCount,
  maxObjectBytes: isCount,
  maxWatchMs: (value) =>
    isPositive(value) ?? ((value as number) >= SHORTEST_WATCH_MS ? undefined : `must be at least ${SHORTEST_WATCH_MS}`),
  heartbeatMs: isPositive,
  probeMs: (value) => (value === false ? undefined : isPositive(value)),
  stallMs: isPositive,
}

/** Throws a TypeError that names what is wrong and what is allowed. */
export function checkSourceOptions(
  options: KubernetesSourceOptions & { readonly namespaces?: readonly string[] | undefined },
): void {
  checkOptions('kubernetesSource', options, { ...optionChecks, namespaces: isNamespaces })
  const { kubeConfig, kind, plural } = options ?? {}
  if (kubeConfig === undefined) {
    throw new OptionError(
      'kubernetesSource: option "kubeConfig" is missing; for example const kubeConfig = new KubeConfig(); kubeConfig.loadFromDefault()',
      { option: 'kubeConfig' },
    )
  }
  if ((kind === undefined) === (plural === undefined))
    throw new OptionError('kubernetesSource: give either "kind" (Pod) or "plural" (pods)', { option: 'kind' })
}

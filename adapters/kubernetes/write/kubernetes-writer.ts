import { hostname } from 'node:os'
import { systemClock } from '../../../src/contract/clock.js'
import { systemRandom } from '../../../src/contract/random.js'
import { structuralEqual } from '../../../src/store/structural-equal.js'
import type { ReconcileContext } from '../../../src/subscriptions/controller/controller-types.js'
import {
  assertPresent,
  checkOptions,
  isBoolean,
  isFunction,
  isPositive,
  isSignal,
  type OptionCheck,
} from '../../../src/util/validate-options.js'
import { Credentials, type KubeConfigProvider } from '../http/credentials.js'
import { CONFIG_EXAMPLE, isConfigProvider } from '../kubernetes-options.js'
import { withConflicts } from './apply-conflict.js'
import { type EventRecorder, type EventRecorderOptions, seriesRecorder } from './event-recorder.js'
import { type FinalizerOptions, finalizing } from './finalizer.js'
import { ObjectApi, type ObjectRequest } from './object-api.js'
import { type KubernetesReference, type KubernetesWritten, namesOf } from './object-types.js'

/**
 * The options of `kubernetesWriter`.
 *
 * @example
 * ```ts
 * import { kubernetesWriter } from 'listwatch/kubernetes'
 *
 * // The server remembers the fields of an apply under `fieldManager`, so it must stay the same.
 * const writer = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator', timeoutMs: 5_000 }) // Default: 15 000.
 * ```
 */
export interface KubernetesWriterOptions {
  /**
   * A KubeConfig of @kubernetes/client-node, or a function that returns one. The function is called again before the
   * next connection when a connection failed or the server rejected the credentials or the user.
   */
  readonly kubeConfig: KubeConfigProvider
  /** The name under which the server remembers which fields were applied: `site-operator`. At most 128 characters. */
  readonly fieldManager: string
  /** A request without an answer for this number of milliseconds fails. Default 15 000. */
  readonly timeoutMs?: number
}

/**
 * The options of `apply`.
 *
 * @example
 * ```ts
 * import { kubernetesWriter } from 'listwatch/kubernetes'
 *
 * const writer = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator' })
 * const metadata = { name: 'shop', namespace: 'default' }
 * const page = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { page: 'Hello' } }
 * await writer.apply(page, { force: true, signal }) // Takes fields of other managers. Default: an ApplyConflictError.
 * ```
 */
export interface KubernetesApplyOptions {
  /** Takes fields that other managers own. Default: false, a conflict is an `ApplyConflictError`. */
  readonly force?: boolean
  /** Ends the wait for the server, and rejects with the signal's reason. The server may have executed the request. */
  readonly signal?: AbortSignal
}

/**
 * Writes objects of Kubernetes, as controllers need it. All promises reject with a `SourceError`: `UNAUTHORIZED` names
 * the missing RBAC rule, or the policy that forbids the write, `NOT_FOUND` an unknown kind or object, `PROTOCOL` an object that the server refuses as
 * invalid, and `UNAVAILABLE` everything that a retry may repair.
 *
 * @example
 * ```ts
 * import type { KubernetesReference, KubernetesWriter } from 'listwatch/kubernetes'
 *
 * interface Site extends KubernetesReference {
 *   readonly status?: { readonly ready: boolean }
 * }
 * async function markReady(writer: KubernetesWriter, site: Site, signal: AbortSignal): Promise<void> {
 *   await writer.applyStatus(site, { ready: true }, { signal }) // Without a difference nothing is sent.
 * }
 * ```
 */
export interface KubernetesWriter {
  /**
   * Creates or changes an object by server-side apply: the server sets the fields of `object`, and removes those that
   * this field manager applied before and that are missing now. Returns the object of the server. An apply without a
   * difference does not change the version. A `uid` or `resourceVersion` in the metadata is a condition: if the object
   * has another one, the server refuses the write. If the object was deleted, only a `uid` prevents that the server
   * creates the object again. Needs the rights `create` and `patch`.
   *
   * @throws ApplyConflictError if other managers own fields with other values; it has their names.
   * @throws TypeError if the object has no apiVersion, kind or name, or lacks the namespace of its kind.
   */
  apply<T extends KubernetesReference>(object: T, options?: KubernetesApplyOptions): Promise<T & KubernetesWritten>
  /**
   * Makes `status` the status of an object, by server-side apply to its subresource `status`. Fields of other managers
   * are taken, and kept if `status` lacks them. If the object has this status already, nothing is sent. Returns the
   * object of the server, or `object` if nothing was sent. The server finds the object by its name: one that was
   * recreated has this status until its own run. Needs the right `patch` on the subresource.
   *
   * @throws TypeError if the object has no apiVersion, kind or name, or lacks the namespace of its kind.
   */
  applyStatus<T extends KubernetesReference & { readonly status?: unknown }>(
    object: T,
    status: NonNullable<T['status']>,
    options?: { readonly signal?: AbortSignal },
  ): Promise<T>
  /**
   * Returns a function for `informer.reconcile`, which keeps a finalizer on the objects. The server then keeps a
   * deleted object until `cleanup` has succeeded.
   *
   * - An object without the finalizer receives it first. `reconcile` is called in the next run, for that change.
   * - An object that is being deleted: `cleanup` is called, and then this finalizer is removed, and no other one.
   * - A key without an object, and an object that is being deleted without this finalizer: no function is called.
   *
   * A write that fails because another client has changed the object is repeated with the current one, at most 5 times.
   * A run rejects with the error of the function, or of the write, or with a TypeError if the object has no uid. Needs
   * the rights `get` and `patch`.
   *
   * @throws TypeError if `name` is not a domain with a path.
   * @throws OptionError for a missing function.
   */
  finalizer<T extends KubernetesReference>(
    name: string,
    functions: FinalizerOptions<T>,
  ): (key: string, context: ReconcileContext<T>) => Promise<void>
  /**
   * Returns a recorder of events (`events.k8s.io/v1`). Events are best effort: they are not retried, and at most 100
   * wait to be written. Needs the rights `create` and `patch` on events.
   *
   * @throws OptionError for a missing or wrong option.
   */
  eventRecorder(options: EventRecorderOptions): EventRecorder
}

const DEFAULT_TIMEOUT_MS = 15_000

const isShortName: OptionCheck = (value) =>
  typeof value === 'string' && value !== '' && value.length <= 128 ? undefined : 'must have 1 to 128 characters'
const isQualifiedName: OptionCheck = (value) =>
  typeof value === 'string' &&
  /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?$/.test(value)
    ? undefined
    : 'must be a domain with a path: example.com/site-operator'

/**
 * Returns the write helpers of a controller: server-side apply, status, finalizers and events. They share their
 * connections, and keep no process alive.
 *
 * @returns The writer, which the controllers of a process can share.
 * @throws OptionError for an option that is missing, unknown or wrong.
 *
 * @example
 * ```ts
 * import { createInformer } from 'listwatch'
 * import { kubernetesSource, kubernetesWriter } from 'listwatch/kubernetes'
 *
 * interface Site {
 *   apiVersion: string
 *   kind: string
 *   metadata: { name: string; namespace: string; uid: string; generation: number }
 *   spec: { page: string }
 *   status?: { observedGeneration: number }
 * }
 *
 * const writer = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator' })
 * const sites = createInformer({ source: kubernetesSource<Site>({ kubeConfig, apiVersion: 'example.com/v1', kind: 'Site' }) })
 * sites.reconcile(
 *   writer.finalizer<Site>('example.com/page', {
 *     reconcile: async (_key, { object: site, signal }) => {
 *       const { name, namespace, generation } = site.metadata
 *       const metadata = { name: `${name}-page`, namespace }
 *       await writer.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { page: site.spec.page } }, { signal })
 *       await writer.applyStatus(site, { observedGeneration: generation }, { signal })
 *     },
 *     cleanup: async (key) => console.log(`unpublish ${key}`),
 *   }),
 * )
 * ```
 */
export function kubernetesWriter(options: KubernetesWriterOptions): KubernetesWriter {
  checkOptions('kubernetesWriter', options, {
    kubeConfig: isConfigProvider,
    fieldManager: isShortName,
    timeoutMs: isPositive,
  })
  assertPresent('kubernetesWriter', options, 'kubeConfig', CONFIG_EXAMPLE)
  assertPresent('kubernetesWriter', options, 'fieldManager', "'site-operator'")
  const { kubeConfig, fieldManager, timeoutMs = DEFAULT_TIMEOUT_MS } = options
  const api = new ObjectApi(new Credentials(kubeConfig, 'kubernetesWriter'), { timeoutMs })
  const apply = async (call: string, object: KubernetesReference, request: ApplyRequest): Promise<unknown> => {
    const { force, ...rest } = request
    try {
      return await api.object(call, object, {
        ...rest,
        verb: 'patch',
        verbs: request.subresource === undefined ? ['create', 'patch'] : ['patch'],
        query: { fieldManager, ...(force ? { force: 'true' } : {}) },
        contentType: 'application/apply-patch+yaml',
      })
    } catch (error) {
      throw withConflicts(error, `${object.kind} ${object.metadata?.name}`)
    }
  }

  return {
    async apply<T extends KubernetesReference>(object: T, given: KubernetesApplyOptions = {}) {
      checkOptions('apply', given, { force: isBoolean, signal: isSignal })
      const { force = false, signal } = given
      return (await apply('apply', object, { body: object, force, signal })) as T & KubernetesWritten
    },
    async applyStatus<T extends KubernetesReference & { readonly status?: unknown }>(
      object: T,
      status: NonNullable<T['status']>,
      given: { readonly signal?: AbortSignal } = {},
    ) {
      checkOptions('applyStatus', given, { signal: isSignal })
      const { apiVersion, kind, name, namespace } = namesOf('applyStatus', object)
      // Properties that are undefined are not sent.
      if (structuralEqual(object.status, JSON.parse(JSON.stringify(status)))) return object
      const body = { apiVersion, kind, metadata: { name, namespace }, status }
      const { signal } = given
      return (await apply('applyStatus', object, { body, force: true, signal, subresource: 'status' })) as T
    },
    finalizer: (name, functions) => {
      if (isQualifiedName(name) !== undefined)
        throw new TypeError('finalizer: the name must be a domain with a path: example.com/page')
      checkOptions('finalizer', functions, { reconcile: isFunction, cleanup: isFunction })
      for (const option of ['reconcile', 'cleanup'] as const)
        assertPresent('finalizer', functions, option, 'async (key, { object }) => …')
      return finalizing(api, { name, fieldManager }, functions)
    },
    eventRecorder: (given) => {
      const checks = { controller: isQualifiedName, instance: isShortName, onError: isFunction }
      checkOptions('eventRecorder', given, checks)
      assertPresent('eventRecorder', given, 'controller', "'example.com/site-operator'")
      const { instance = hostname() || 'unknown' } = given
      const send = api.send.bind(api)
      return seriesRecorder({ ...given, instance, clock: systemClock, random: systemRandom, send })
    },
  }
}

interface ApplyRequest extends Pick<ObjectRequest, 'body' | 'signal' | 'subresource'> {
  readonly force: boolean
}

import type { KubeConfigLike } from '../../adapters/kubernetes/index.js'
import type { FakeResource } from './fake-resources.js'
import type { FakeObject, FakeObjectDraft, FakeReference } from './objects/fake-object.js'

/**
 * The options of `fakeKubernetes`.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * const site = { apiVersion: 'example.com/v1', kind: 'Site', plural: 'sites' }
 * await using server = await fakeKubernetes({ resources: [site] }) // Pods and others of `v1` are served too.
 * ```
 */
export interface FakeKubernetesOptions {
  /**
   * The resources to serve, such as custom ones. Added to ConfigMaps, Namespaces, Pods, Secrets and Services of `v1`,
   * Deployments of `apps/v1`, and Events of `events.k8s.io/v1`.
   */
  readonly resources?: readonly FakeResource[]
}

/**
 * A request that the server has received.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes()
 * const writes = server.requests.filter(({ method }) => method !== 'GET')
 * console.log(writes.map(({ method, path, query }) => `${method} ${path}?${query}`))
 * ```
 */
export interface FakeRequest {
  /** The method: `GET`. */
  readonly method: string
  /** The path without the query: `/api/v1/pods`. */
  readonly path: string
  /** The query: `limit=500`. */
  readonly query: string
}

/**
 * A failure that the server answers with.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes()
 * const failure = { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 2 }
 * server.failNext(({ path }) => path === '/api/v1/pods', failure) // A mirror of pods retries its list after 2 s.
 * ```
 */
export interface FakeFailure {
  /** The HTTP status: 503. */
  readonly code: number
  /** The reason of the status: `TooManyRequests`. Default: empty. */
  readonly reason?: string
  /** The message of the status. Default: empty. */
  readonly message?: string
  /** The header `Retry-After`, in seconds. Default: none. */
  readonly retryAfterSeconds?: number
}

/**
 * A scripted API server. Its writes are those of another client, and take effect at once.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes()
 * const pods = createInformer({ source: kubernetesSource({ kubeConfig: server.kubeConfig, kind: 'Pod' }) })
 * await pods.start().synced()
 * const pod = server.put({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default' } })
 * await pods.waitFor(pod.metadata.resourceVersion)
 * server.disconnect() // The informer resumes its watch.
 * ```
 */
export interface FakeKubernetes extends AsyncDisposable {
  /** For `kubernetesSource` and `kubernetesWriter`. */
  readonly kubeConfig: KubeConfigLike
  /** For `loadFromOptions` of a `KubeConfig` of @kubernetes/client-node. */
  readonly kubeConfigOptions: {
    readonly clusters: { name: string; server: string; skipTLSVerify: boolean }[]
    readonly users: { name: string; token: string }[]
    readonly contexts: { name: string; cluster: string; user: string }[]
    readonly currentContext: string
  }
  /** All requests, in their order. */
  readonly requests: readonly FakeRequest[]
  /** The number of open watches. */
  readonly watches: number
  /** Creates or replaces an object as the field manager `test`, and returns it. The status is written too. */
  put(draft: FakeObjectDraft): FakeObject
  /** Returns the object; undefined if there is none. */
  get(reference: FakeReference): FakeObject | undefined
  /** Returns all objects of a kind, sorted by namespace and name. */
  list(apiVersion: string, kind: string): readonly FakeObject[]
  /** Deletes an object, or marks it as deleted if it has finalizers. */
  delete(reference: FakeReference): void
  /** Sends a bookmark with the current version to all watches. */
  bookmark(): void
  /** Closes all connections. */
  disconnect(): void
  /** Closes all connections and forgets the history: a watch from an earlier version is answered with 410. */
  compact(): void
  /** Answers the next request for which `isMeant` returns true with a failure. Call it again for further ones. */
  failNext(isMeant: (request: FakeRequest) => boolean, failure: FakeFailure): void
}

import type { RequestOptions } from 'node:https'
export interface FakeFailure {
  readonly code: number
  readonly message?: string
  readonly reason?: string
  readonly retryAfterSeconds?: number
}
export interface FakeKubernetes extends AsyncDisposable {
  bookmark(): void
  compact(): void
  delete(reference: FakeReference): void
  disconnect(): void
  failNext(isMeant: (request: FakeRequest) => boolean, failure: FakeFailure): void
  get(reference: FakeReference): FakeObject | undefined
  readonly kubeConfig: KubeConfigLike
  readonly kubeConfigOptions: {
    readonly clusters: { name: string; server: string; skipTLSVerify: boolean }[]
    readonly users: { name: string; token: string }[]
    readonly contexts: { name: string; cluster: string; user: string }[]
    readonly currentContext: string
  }
  list(apiVersion: string, kind: string): readonly FakeObject[]
  put(draft: FakeObjectDraft): FakeObject
  readonly requests: readonly FakeRequest[]
  readonly watches: number
}
export interface FakeKubernetesOptions {
  readonly resources?: readonly FakeResource[]
}
export interface FakeObject extends KubernetesObject {
  readonly [field: string]: unknown
  readonly metadata: KubernetesObject['metadata'] & { readonly [field: string]: unknown }
}
export interface FakeObjectDraft extends FakeReference {
  readonly [field: string]: unknown
  readonly metadata: FakeReference['metadata'] & { readonly [field: string]: unknown }
}
export interface FakeReference {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}
export interface FakeRequest {
  readonly method: string
  readonly path: string
  readonly query: string
}
export interface FakeResource {
  readonly apiVersion: string
  readonly isNamespaced?: boolean
  readonly kind: string
  readonly plural: string
}
export interface KubeConfigLike {
  applyToHTTPSOptions(options: RequestOptions): Promise<void>
  getCurrentCluster(): { readonly server: string; readonly proxyUrl?: string | undefined } | null
  getCurrentContext(): string
}
export interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly generation?: number
    readonly creationTimestamp: string
    readonly deletionTimestamp?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly finalizers?: readonly string[]
    readonly ownerReferences?: readonly {
      readonly apiVersion: string
      readonly kind: string
      readonly name: string
      readonly uid: string
      readonly controller?: boolean
      readonly blockOwnerDeletion?: boolean
    }[]
  }
}
export declare function fakeKubernetes(options?: FakeKubernetesOptions): Promise<FakeKubernetes>

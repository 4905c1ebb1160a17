export { KubeConfigLike, KubernetesObject } from 'listwatch/kubernetes'
export interface FakeFailure {
  readonly code: number; readonly message?: string; readonly reason?: string; readonly retryAfterSeconds?: number
}
export interface FakeKubernetes extends AsyncDisposable {
  readonly kubeConfig: KubeConfigLike
  readonly kubeConfigOptions: { readonly clusters: { name: string; server: string; skipTLSVerify: boolean }[];
      readonly users: { name: string; token: string }[]; readonly contexts: { name: string; cluster: string;
      user: string }[]; readonly currentContext: string }
  readonly requests: readonly FakeRequest[]; readonly watches: number
  bookmark(): void
  compact(): void
  delete(reference: FakeReference): void
  disconnect(): void
  failNext(isMeant: (request: FakeRequest) => boolean, failure: FakeFailure): void
  get(reference: FakeReference): FakeObject | undefined
  list(apiVersion: string, kind: string): readonly FakeObject[]
  put(draft: FakeObjectDraft): FakeObject
}
export interface FakeKubernetesOptions {} // docs/reference/options.md
export interface FakeObject extends KubernetesObject {
  readonly [field: string]: unknown
  readonly metadata: KubernetesObject['metadata'] & { readonly [field: string]: unknown }
}
export interface FakeObjectDraft extends FakeReference {
  readonly [field: string]: unknown
  readonly metadata: FakeReference['metadata'] & { readonly [field: string]: unknown }
}
export interface FakeReference {
  readonly apiVersion: string; readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
}
export interface FakeRequest { readonly method: string; readonly path: string; readonly query: string }
export interface FakeResource {
  readonly apiVersion: string; readonly isNamespaced?: boolean; readonly kind: string; readonly plural: string
}
export declare function fakeKubernetes(options?: FakeKubernetesOptions): Promise<FakeKubernetes>

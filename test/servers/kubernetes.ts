import { KubeConfig } from '@kubernetes/client-node'
import { type ApiServer as Api, ApiServer, KUBE_TOKENS, type KubeUser } from './api-server.js'
import { EtcdServer } from './etcd.js'
import { KubeClient } from './kube-client.js'
import type { FoundServer } from './locate.js'
import { succeeds, waitUntil } from './wait-until.js'

/** The two programs that a control plane is made of here. */
export type KubernetesPrograms = { readonly apiServer: FoundServer; readonly etcd: FoundServer }

export interface KubernetesOptions {
  readonly server: KubernetesPrograms
  readonly flags?: readonly string[]
  /** Default true. */
  readonly watchCache?: boolean
  /** Whether lists may be streamed. Default true. */
  readonly watchList?: boolean
  /** The address at which it looks up the user of an unknown token; see `TokenReviewer`. */
  readonly tokenReviewUrl?: string
}

/** What `KubeConfig.loadFromOptions` of @kubernetes/client-node takes. */
export interface KubeConfigOptions {
  readonly clusters: { name: string; server: string; caData: string; skipTLSVerify: boolean }[]
  readonly users: { name: string; token: string }[]
  readonly contexts: { name: string; cluster: string; user: string }[]
  readonly currentContext: string
}

export type ApiServerChoice = { readonly flags?: readonly string[]; readonly etcdPort?: number }

/** Another way in than the server's own. */
export interface KubeWay {
  readonly user?: KubeUser
  /** Instead of the user's own. */
  readonly token?: string
  /** Of a proxy before the server, or of another server. */
  readonly port?: number
}

export async function startKubernetes(options: KubernetesOptions): Promise<Kubernetes> {
  const etcd = await EtcdServer.start({ server: options.server.etcd })
  try {
    return await Kubernetes.over(etcd, options)
  } catch (error) {
    await etcd[Symbol.asyncDispose]()
    throw error
  }
}

/** An API server over an etcd of its own, in temporary folders: no controllers, no nodes. */
export class Kubernetes implements AsyncDisposable {
  readonly etcd: EtcdServer
  readonly api: Api
  readonly admin: KubeClient
  readonly #options: KubernetesOptions
  readonly #ca: Buffer
  /** Those beside `api`. */
  readonly #others: Api[] = []
  readonly #clients: KubeClient[] = []

  private constructor(options: KubernetesOptions, etcd: EtcdServer, api: Api, ca: Buffer) {
    this.#options = options
    this.etcd = etcd
    this.api = api
    this.#ca = ca
    this.admin = this.#client({ port: api.port, token: KUBE_TOKENS.admin, ca })
  }

  static async over(etcd: EtcdServer, options: KubernetesOptions): Promise<Kubernetes> {
    const { server, flags = [], watchCache = true, watchList = true, tokenReviewUrl } = options
    const all = [
      ...(watchCache ? [] : ['--watch-cache=false']),
      ...(watchList ? [] : ['--feature-gates=WatchList=false']),
      ...flags,
    ]
    const api = await ApiServer.start({ server: server.apiServer, etcdPort: etcd.port, flags: all, tokenReviewUrl })
    const kubernetes = new Kubernetes(options, etcd, api, await api.certificate())
    await waitUntil('the namespace "default"', () => succeeds(kubernetes.admin.read('/api/v1/namespaces/default')))
    return kubernetes
  }

  /** For @kubernetes/client-node. */
  kubeConfig(way: KubeWay = {}): KubeConfigOptions {
    const { user = 'admin', token = KUBE_TOKENS[user], port = this.api.port } = way
    const caData = this.#ca.toString('base64')
    return {
      clusters: [{ name: 'test', server: `https://127.0.0.1:${port}`, caData, skipTLSVerify: false }],
      users: [{ name: user, token }],
      contexts: [{ name: 'test', cluster: 'test', user }],
      currentContext: 'test',
    }
  }

  config(way?: KubeWay): KubeConfig {
    const config = new KubeConfig()
    config.loadFromOptions(this.kubeConfig(way))
    return config
  }

  client({ user = 'admin', token = KUBE_TOKENS[user], port = this.api.port }: KubeWay = {}): KubeClient {
    return this.#client({ port, token, ca: this.#ca })
  }

  /** Another API server over the same etcd, or over a proxy before it, under the same certificate. */
  async addApiServer({ flags = [], etcdPort = this.etcd.port }: ApiServerChoice = {}): Promise<Api> {
    const api = await ApiServer.start({ server: this.#options.server.apiServer, etcdPort, flags, sibling: this.api })
    this.#others.push(api)
    return api
  }

  /** The user may do this from now on, in every namespace; what was granted before under this name is gone. */
  async grant(user: KubeUser, name: string, verbs: readonly string[], resources: readonly string[]): Promise<void> {
    await this.revoke(name)
    const rules = [{ apiGroups: ['*'], resources, verbs }]
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    await this.admin.create(`${rbac}/clusterroles`, { metadata: { name }, rules })
    await this.admin.create(`${rbac}/clusterrolebindings`, {
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    })
  }

  async revoke(name: string): Promise<void> {
    const rbac = '/apis/rbac.authorization.k8s.io/v1'
    for (const kind of ['clusterrolebindings', 'clusterroles'])
      await this.admin.delete(`${rbac}/${kind}/${name}`).catch(() => {})
  }

  async compact(): Promise<void> {
    const { kv } = this.etcd.client()
    const { header } = await kv.range({ key: Buffer.from('/') })
    await kv.compact({ revision: header.revision, physical: true })
  }

  /** The database as it was in a backup of `etcd`, and an API server that knows nothing else. */
  async restore(backup: string): Promise<void> {
    await this.api.kill()
    await this.etcd.restore(backup)
    await this.etcd.start()
    await this.api.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client[Symbol.dispose]()
    // Before their etcd: an API server that has lost it takes its time.
    for (const api of [...this.#others, this.api]) await api[Symbol.asyncDispose]()
    await this.etcd[Symbol.asyncDispose]()
  }

  #client(access: ConstructorParameters<typeof KubeClient>[0]): KubeClient {
    const client = new KubeClient(access)
    this.#clients.push(client)
    return client
  }
}

import { KubeConfig } from '@kubernetes/client-node'
import { type KubernetesSourceOptions, kubernetesSource } from '../../adapters/kubernetes/index.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { CountingClock, fastClock } from '../postgres-faults/clocks.js'
import type { HandlerHistory } from '../postgres-faults/handler-history.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import { type KubeDraft, type KubeObject, KubeRefusal } from '../servers/kube-client.js'
import type { Kubernetes, KubeWay } from '../servers/kubernetes.js'
import { waitUntil } from '../servers/wait-until.js'
import { Follower, seen } from './follower.js'

/** What is mirrored. */
export interface Resource {
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** What of an object says how it is. */
  draft(name: string, n: number, namespace?: string): KubeDraft
}

export const CONFIGMAPS: Resource = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  draft: (name, n) => ({ metadata: { name, labels: { half: String(Math.abs(n) % 2) } }, data: { n: String(n) } }),
}

export const PODS: Resource = {
  apiVersion: 'v1',
  kind: 'Pod',
  plural: 'pods',
  draft: (name, n) => ({
    metadata: { name, labels: { half: String(Math.abs(n) % 2), n: String(n) } },
    spec: { containers: [{ name: 'one', image: 'example.com/one' }] },
  }),
}

export interface StageOptions {
  readonly kubernetes: Kubernetes
  /** Default: ConfigMaps. */
  readonly resource?: Resource
  readonly source?: Partial<KubernetesSourceOptions>
  /** As whom the mirror reads. Default: the admin. */
  readonly way?: KubeWay
  /** Instead of `way`: a function that returns a configuration for this port. */
  readonly configOf?: (port: number) => () => KubeConfig
  /** Default: none. */
  readonly audit?: { readonly periodMs: number }
  /** The speed of the mirror's clock. Default 10. */
  readonly speed?: number
  /** How many mirrors there are, each with a source of its own over the same configuration. Default 1: what is said of the first holds for all. */
  readonly mirrors?: number
  /** Another source than ours, over the same configuration. */
  readonly instead?: (config: KubeConfig | (() => KubeConfig), namespace: string) => ListerWatcher<KubeObject>
}

let stages = 0

/** A namespace of its own, a proxy before the server, a mirror that sees it through the proxy, and a witness between them. */
export class Stage implements AsyncDisposable {
  readonly kubernetes: Kubernetes
  readonly namespace: string
  readonly resource: Resource
  readonly proxy: FaultProxy
  readonly followers: readonly Follower[]
  readonly clock: CountingClock

  private constructor(
    options: StageOptions,
    namespace: string,
    proxy: FaultProxy,
    config: KubeConfig | (() => KubeConfig),
  ) {
    const { kubernetes, resource = CONFIGMAPS, source, speed = 10, instead } = options
    this.kubernetes = kubernetes
    this.resource = resource
    this.namespace = namespace
    this.proxy = proxy
    this.clock = new CountingClock(fastClock(speed))
    const { apiVersion, kind } = resource
    const sourceOf = (): ListerWatcher<KubeObject> =>
      instead?.(config, namespace) ??
      kubernetesSource<KubeObject>({ kubeConfig: config, apiVersion, kind, namespace, ...source })
    const audit = options.audit ?? false
    this.followers = Array.from({ length: options.mirrors ?? 1 }, () => new Follower(sourceOf(), this.clock, audit))
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { kubernetes, way = {} } = options
    const namespace = `stage-${++stages}`
    const isTaken = (error: unknown): boolean => error instanceof KubeRefusal && error.status === 409
    await kubernetes.admin.create('/api/v1/namespaces', { metadata: { name: namespace } }).catch((error: unknown) => {
      if (!isTaken(error)) throw error
    })
    const proxy = await startFaultProxy({ targetPort: kubernetes.api.port })
    const config = new KubeConfig()
    config.loadFromOptions(kubernetes.kubeConfig({ ...way, port: proxy.port }))
    return new Stage(options, namespace, proxy, options.configOf?.(proxy.port) ?? config)
  }

  /** Runs a test on a stage of its own; at its end the mirror stops, and leaves no timer and no connection. */
  static async with(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
    await using stage = await Stage.open(options)
    await act(stage)
    await stage.stop()
    stage.proxy.pass()
    const isGone = (): boolean => stage.clock.sleeping === 0 && stage.proxy.counts.open === 0
    await waitUntil('nothing to be left', isGone).catch((error: unknown) => {
      const left = `${stage.proxy.counts.open} connections, ${stage.clock.sleeping} timers`
      throw new Error(`${left} are left after the stop`, { cause: error })
    })
  }

  /** Of the collection, for calls. */
  get path(): string {
    const { apiVersion, plural } = this.resource
    const api = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    return `${api}/namespaces/${this.namespace}/${plural}`
  }

  get #first(): Follower {
    const [first] = this.followers
    if (first === undefined) throw new Error('a stage has a mirror')
    return first
  }

  get informer(): Informer<KubeObject> {
    return this.#first.informer
  }

  get delivered(): HandlerHistory<KubeObject> {
    return this.#first.delivered
  }

  get errors(): readonly SourceError[] {
    return this.#first.errors
  }

  get relists(): number {
    return this.informer.status.relists
  }

  get reconnects(): number {
    return this.informer.status.reconnects
  }

  /** The first list is in, and the watch is open. */
  async live(): Promise<void> {
    for (const { informer } of this.followers) informer.start()
    const are = (isSo: (informer: Informer<KubeObject>) => boolean): boolean =>
      this.followers.every(({ informer }) => isSo(informer))
    await this.until('the first list', () => are(({ status }) => status.isSynced), 60_000)
    const isOpen = (): boolean => are(({ status }) => status.state === 'live') && this.proxy.counts.open > 0
    await this.until('the watch to be open', isOpen)
  }

  async until(what: string, isSo: () => boolean, ms = 90_000): Promise<void> {
    await waitUntil(what, isSo, ms).catch((error: unknown) => {
      throw new Error(this.story, { cause: error })
    })
  }

  /** Breaks off a watch that is open; one that is not is left to open. */
  resetLive(): void {
    if (this.informer.status.state === 'live') this.proxy.reset()
  }

  /** The object becomes this, whether it was there or not. Returns its version. */
  async put(name: string, n: number): Promise<string> {
    const { admin } = this.kubernetes
    const draft = this.resource.draft(name, n, this.namespace)
    const path = `${this.path}/${name}`
    // The spec of a pod stays as it is.
    const change = this.resource === PODS ? { metadata: draft.metadata } : draft
    for (;;) {
      try {
        return (await admin.patch(path, change)).metadata.resourceVersion ?? ''
      } catch (error) {
        if (!(error instanceof KubeRefusal && error.status === 404)) throw error
      }
      try {
        return (await admin.create(this.path, draft)).metadata.resourceVersion ?? ''
      } catch (error) {
        if (!(error instanceof KubeRefusal && error.status === 409)) throw error
      }
    }
  }

  /** It changes. */
  async touch(name: string): Promise<void> {
    await this.put(name, -1)
  }

  /** It is gone, whether it was there or not. */
  async remove(name: string): Promise<void> {
    await this.kubernetes.admin.delete(`${this.path}/${name}`).catch((error: unknown) => {
      if (!(error instanceof KubeRefusal && error.status === 404)) throw error
    })
  }

  /** Many objects, `k0` and so on. */
  async fill(count: number, n = 0): Promise<void> {
    await this.kubernetes.admin.many(count, (at) => this.put(`k${at}`, n))
  }

  /** The mirror is what the server has, and so is what the subscription knows; the watch broke none of its promises. */
  async healed(ms = 60_000): Promise<void> {
    let wrong: readonly string[] = []
    const isEqual = async (): Promise<boolean> => {
      wrong = await this.differences().catch((error: unknown) => [String(error)])
      return wrong.length === 0
    }
    await waitUntil('the mirror to be what the server has', isEqual, ms).catch((error: unknown) => {
      throw new Error(`${wrong.length} differ: ${wrong.slice(0, 5).join(' ')}; ${this.story}`, { cause: error })
    })
    await waitUntil('the subscription to know it', () => this.followers.every(({ isTold }) => isTold))
    const flaws = this.followers.flatMap((follower) => follower.flaws)
    if (flaws.length > 0) throw new Error(flaws.slice(0, 10).join('; '))
  }

  /** The keys of which server and mirror do not say the same. */
  async differences(): Promise<string[]> {
    const { items } = await this.kubernetes.admin.list(this.path)
    const wanted = new Map(items.map((object) => [`${this.namespace}/${object.metadata.name}`, seen(object)]))
    return this.followers.flatMap((follower) => follower.differences(wanted))
  }

  /** What happened, for those who must find out why. */
  get story(): string {
    return this.followers.map(({ story }) => story).join(' | ')
  }

  async stop(): Promise<void> {
    await Promise.all(this.followers.map(({ informer }) => informer.stop()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
    await this.proxy[Symbol.asyncDispose]()
  }
}

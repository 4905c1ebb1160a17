import type { KubeConfig } from '@kubernetes/client-node'
import { type KubernetesSourceOptions, kubernetesSource } from '../../adapters/kubernetes/index.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import { type KubeDraft, type KubeObject, KubeRefusal } from '../servers/kube-client.js'
import type { Kubernetes, KubeWay } from '../servers/kubernetes.js'
import { BackendStage } from '../support/backend-stage.js'
import { CountingClock, fastClock } from '../support/clocks.js'
import { Follower } from '../support/follower.js'
import { Witness } from './witness.js'

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

/** No server has a watch cache of these. */
export const EVENTS: Resource = {
  apiVersion: 'v1',
  kind: 'Event',
  plural: 'events',
  draft: (name, n, namespace) => ({
    metadata: { name },
    involvedObject: { kind: 'Pod', name: 'one', namespace },
    reason: `n${n}`,
    type: 'Normal',
  }),
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
  /** Instead of `way`: returns a configuration for this port, or a function that returns one. */
  readonly configOf?: (port: number) => KubeConfig | (() => KubeConfig)
  readonly audit?: false | { readonly periodMs: number }
  /** The speed of the mirror's clock. Default 10. */
  readonly speed?: number
  /** Another source than ours, over the same configuration. */
  readonly instead?: (config: KubeConfig | (() => KubeConfig), namespace: string) => ListerWatcher<KubeObject>
}

let stages = 0

/** A namespace of its own, a proxy before the server, a mirror that reads through the proxy, and a witness between them. */
export class Stage extends BackendStage<KubeObject> {
  readonly kubernetes: Kubernetes
  readonly namespace: string
  readonly resource: Resource
  readonly #newSource: () => ListerWatcher<KubeObject>
  readonly #audit: false | { readonly periodMs: number }

  private constructor(
    options: StageOptions,
    namespace: string,
    proxy: FaultProxy,
    config: KubeConfig | (() => KubeConfig),
  ) {
    const { kubernetes, resource = CONFIGMAPS, source, speed = 10, instead, audit = false } = options
    const { apiVersion, kind } = resource
    const newSource = (): ListerWatcher<KubeObject> =>
      instead?.(config, namespace) ??
      kubernetesSource<KubeObject>({ kubeConfig: config, apiVersion, kind, namespace, ...source })
    const own = newSource()
    super(proxy, own, { clock: new CountingClock(fastClock(speed)), checker: new Witness(own), audit })
    this.kubernetes = kubernetes
    this.resource = resource
    this.namespace = namespace
    this.#newSource = newSource
    this.#audit = audit
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { kubernetes, way = {} } = options
    const namespace = `stage-${++stages}`
    const isTaken = (error: unknown): boolean => error instanceof KubeRefusal && error.status === 409
    await kubernetes.admin.create('/api/v1/namespaces', { metadata: { name: namespace } }).catch((error: unknown) => {
      if (!isTaken(error)) throw error
    })
    const proxy = await startFaultProxy({ targetPort: kubernetes.api.port })
    const config = kubernetes.config({ ...way, port: proxy.port })
    return new Stage(options, namespace, proxy, options.configOf?.(proxy.port) ?? config)
  }

  /** Runs a test on a stage of its own; at its end the mirror stops, and leaves no timer and no connection. */
  static async with(options: StageOptions, act: (stage: Stage) => Promise<void>): Promise<void> {
    await (await Stage.open(options)).run(act)
  }

  /** Another mirror, with a source of its own over the same configuration. */
  second(): Follower<KubeObject> {
    return new SecondMirror(this, this.#newSource(), this.#audit)
  }

  get path(): string {
    const { apiVersion, plural } = this.resource
    const api = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    return `${api}/namespaces/${this.namespace}/${plural}`
  }

  override async live(): Promise<void> {
    this.informer.start()
    const isOpen = (): boolean => this.informer.status.state === 'live' && this.proxy.counts.open > 0
    await this.until('the watch to be open', isOpen)
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

  async touch(name: string): Promise<void> {
    await this.put(name, -1)
  }

  async remove(name: string): Promise<void> {
    await this.kubernetes.admin.delete(`${this.path}/${name}`).catch((error: unknown) => {
      if (!(error instanceof KubeRefusal && error.status === 404)) throw error
    })
  }

  async fill(count: number, n = 0): Promise<void> {
    await this.kubernetes.admin.many(count, (at) => this.put(`k${at}`, n))
  }

  async filled(count: number): Promise<void> {
    await this.fill(count)
    await this.live()
  }

  override async truth(): Promise<ReadonlyMap<string, string>> {
    const { items } = await this.kubernetes.admin.list(this.path)
    return new Map(items.map((object) => [`${this.namespace}/${object.metadata.name}`, comparedPart(object)]))
  }

  protected override textOf(object: KubeObject): string {
    return comparedPart(object)
  }
}

class SecondMirror extends Follower<KubeObject> {
  readonly #stage: Stage

  constructor(stage: Stage, source: ListerWatcher<KubeObject>, audit: false | { readonly periodMs: number }) {
    super(source, { clock: stage.clock, checker: new Witness(source), audit })
    this.#stage = stage
  }

  override truth(): Promise<ReadonlyMap<string, string>> {
    return this.#stage.truth()
  }

  protected override textOf(object: KubeObject): string {
    return comparedPart(object)
  }
}

/** All that matters of an object; its version stands for the rest, within one history. */
function comparedPart({ metadata, data, spec }: KubeObject): string {
  return JSON.stringify([metadata.uid, metadata.resourceVersion, metadata.labels, data, spec])
}

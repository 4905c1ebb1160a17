import { ArrivalOrder } from './http/arrival-order.js'
import type { KubeConfigProvider } from './http/credentials.js'
import { RetryAfterGate } from './http/retry-after-gate.js'
import { WatchRegistry } from './watch/watch-registry.js'

/** The state that all sources of one KubeConfig share. */
export class Cluster {
  static readonly #clusters = new WeakMap<KubeConfigProvider, Cluster>()

  /** Returns the cluster of this KubeConfig object, or of this function that returns KubeConfigs. */
  static of(configProvider: KubeConfigProvider): Cluster {
    const cluster = Cluster.#clusters.get(configProvider) ?? new Cluster()
    Cluster.#clusters.set(configProvider, cluster)
    return cluster
  }

  readonly watches: WatchRegistry = new WatchRegistry()
  readonly arrivals: ArrivalOrder = new ArrivalOrder()
  readonly #gates = new Map<string, RetryAfterGate>()

  /** Returns the Retry-After gate that all sources of this resource share. */
  retryAfterGate(resource: string): RetryAfterGate {
    const gate = this.#gates.get(resource) ?? new RetryAfterGate()
    this.#gates.set(resource, gate)
    return gate
  }
}

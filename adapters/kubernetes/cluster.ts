import { isEpochChange } from '../../src/contract/errors.js'
import type { WatchBatch } from '../../src/contract/source.js'
import type { Decoder } from './decode/decoder.js'
import { historyRewound } from './history/history-errors.js'
import { compareVersions } from './history/resource-version.js'
import type { KubeConfigProvider } from './http/credentials.js'
import { RetryAfterGate } from './http/retry-after-gate.js'
import { type FollowContext, SharedWatch, type SharedWatchOptions, type WatchEnd } from './watch/shared-watch.js'
import type { ResumeVersions } from './watch/watch-connector.js'

interface ResumePoint extends ResumeVersions {
  /** The arrival number at which the list began that `after` goes back to. */
  readonly listedAt: number
}

/** The state that all sources of one KubeConfig share. */
export class Cluster {
  static readonly #clusters = new WeakMap<KubeConfigProvider, Cluster>()

  static of(configProvider: KubeConfigProvider): Cluster {
    const cluster = Cluster.#clusters.get(configProvider) ?? new Cluster()
    Cluster.#clusters.set(configProvider, cluster)
    return cluster
  }

  readonly #gates = new Map<string, RetryAfterGate>()
  /** Watches with the same key deliver the same objects. The newest is the last one. */
  readonly #watches = new Map<string, readonly SharedWatch[]>()

  retryAfterGate(resource: string): RetryAfterGate {
    const gate = this.#gates.get(resource) ?? new RetryAfterGate()
    this.#gates.set(resource, gate)
    return gate
  }

  /**
   * Follows the newest open watch with this key, if it has every event after `from` and none that arrived before
   * `listedAt`. Otherwise opens another watch with `options`.
   *
   * A list contains every event that a watch of the same history received before the list began. If a watch is already
   * ahead of the list, one of two things happened. Either the list came from a server that is behind, or etcd was
   * restored and the watch shows the old history. The server's head decides: a watch of the old history ends for all
   * its followers.
   */
  async *follow<T>(
    key: string,
    { after, from, listedAt }: ResumePoint,
    decoder: Decoder<T>,
    context: FollowContext,
    options: SharedWatchOptions,
  ): AsyncGenerator<WatchBatch<T>, WatchEnd> {
    const ahead = this.#openWatches(key).filter((watch) => !watch.canServe(from, listedAt))
    if (ahead.length > 0) await failRewound(ahead, options)
    const open = this.#openWatches(key)
    const newest = open.at(-1)
    const watch = newest?.canServe(from, listedAt) === true ? newest : new SharedWatch({ after, from }, options)
    if (watch !== newest) this.#watches.set(key, [...open, watch])
    try {
      return yield* watch.follow({ after, from }, decoder, context)
    } catch (error) {
      // The history has changed for all followers.
      if (isEpochChange(error)) watch.fail(error)
      throw error
    } finally {
      const left = this.#openWatches(key)
      if (left.length > 0) this.#watches.set(key, left)
      else this.#watches.delete(key)
    }
  }

  #openWatches(key: string): readonly SharedWatch[] {
    return (this.#watches.get(key) ?? []).filter(({ isOver }) => !isOver)
  }
}

async function failRewound(watches: readonly SharedWatch[], { connector }: SharedWatchOptions): Promise<void> {
  const before = watches.map((watch) => ({ watch, version: watch.lastVersion }))
  const head = await connector.head()
  for (const { watch, version } of before)
    if (version !== undefined && compareVersions(head, version) < 0) watch.fail(historyRewound(version, head))
}

import { ABORTED, SourceError } from '../../src/contract/errors.js'
import type { MirrorServer } from '../http/serve-http.js'
import type { OpenedSnapshot } from './shared-snapshot.js'
import { type PackerHost, SnapshotPacker } from './snapshot-packer.js'

/** While a follower waits for a snapshot, it hears in this interval that the share works on it, in milliseconds. */
const ALIVE_MS = 10_000
/** The source lists another history, for example. It is tried again after this time, in milliseconds. */
const RETRY_MS = 250

/** How a follower waits for a snapshot. */
export interface OpenContext {
  /** Aborts when the follower does not wait any more. */
  readonly signal: AbortSignal
  alive(): void
}

/** The snapshots of a share, which its ports hand out. */
export class SharedSnapshots<T> {
  readonly #host: PackerHost
  /** By feed: after a change of the epoch, there is another one. */
  readonly #packers = new WeakMap<object, SnapshotPacker<T>>()

  constructor(host: PackerHost) {
    this.#host = host
  }

  /** Waits for the first list of the informer. Undefined if there is none: the follower lists, and hears why. */
  async open(server: MirrorServer<T>, { signal, alive }: OpenContext): Promise<OpenedSnapshot | undefined> {
    const opened = new AbortController()
    const beat = async (): Promise<void> => {
      for (;;) {
        await this.#host.clock.sleep(ALIVE_MS, opened.signal)
        alive()
      }
    }
    beat().catch(() => {})
    try {
      return await this.#open(server, signal)
    } finally {
      opened.abort(ABORTED)
    }
  }

  /** The objects of a feed were deleted after lost access. */
  clear(feed: object): void {
    this.#packers.get(feed)?.clear()
  }

  async #open(server: MirrorServer<T>, signal: AbortSignal): Promise<OpenedSnapshot | undefined> {
    while (!signal.aborted) {
      try {
        const feed = await server.feedOf({}, signal)
        const packer = this.#packers.get(feed) ?? new SnapshotPacker<T>(feed, this.#host)
        this.#packers.set(feed, packer)
        return await packer.open()
      } catch (error) {
        const isTemporary = error instanceof SourceError && ['TIMEOUT', 'UNAVAILABLE'].includes(error.code)
        if (!isTemporary || signal.aborted) return undefined
        await this.#host.clock.sleep(RETRY_MS)
      }
    }
    return undefined
  }
}

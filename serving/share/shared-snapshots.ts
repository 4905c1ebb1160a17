import { encodeRecord } from '../../adapters/common/record-text.js'
import { type Clock, wallNowOf } from '../../src/contract/clock.js'
import { ABORTED, messageOf, SourceError } from '../../src/contract/errors.js'
import type { PackedSection, SavedRecord } from '../../src/contract/mirror-cache.js'
import { emitWarning } from '../../src/contract/node-or-browser.js'
import type { PackableMirror, PinnedMirror } from '../../src/informer/internals.js'
import { TimeSlice } from '../../src/util/time-slice.js'
import type { FeedPosition, MirrorFeed } from '../http/mirror-feed.js'
import type { MirrorServer } from '../http/serve-http.js'
import { deflated, freeBytes, freeDeflated } from './block-compression.js'
import { SharedBlockWriter, sharedBytes } from './shared-memory.js'
import { type OpenedSnapshot, type SharedSnapshot, SNAPSHOT_FORMAT } from './shared-snapshot.js'

/** While a follower waits for a snapshot, it hears in this interval that the share works on it, in milliseconds. */
const ALIVE_MS = 10_000
/** The source lists another history, for example. It is tried again after this time, in milliseconds. */
const LOOK_MS = 250
/** A block is inflated as a whole to read one object: small blocks make that fast, large ones compress better. */
const BLOCK_BYTES = 16 * 1024
/** How much of a section is copied at a time. */
const COPY_BYTES = 1024 * 1024
/** After a failure to pack, the next attempt begins after this time, in milliseconds. */
const RETRY_MS = 60_000
/** How often it is checked whether the snapshot can still be used, in milliseconds. */
const CHECK_MS = 10_000

/** What a packer needs of its share. */
interface PackerHost {
  readonly mirror: PackableMirror
  readonly clock: Clock
  /** The size of the history of a feed, in bytes. */
  readonly historyBytes: number
}

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
        await this.#host.clock.sleep(LOOK_MS)
      }
    }
    return undefined
  }
}

interface PackedFeed {
  readonly snapshot: SharedSnapshot
  readonly at: FeedPosition
}

/** Packs the objects of one feed into shared memory when a follower joins, and keeps them for later joins. */
class SnapshotPacker<T> {
  readonly #feed: MirrorFeed<T>
  readonly #host: PackerHost
  #packed: PackedFeed | undefined
  #packing: Promise<PackedFeed | undefined> | undefined
  /** No snapshot that began before is given to a follower. */
  #clears = 0
  #failedAt: number | undefined

  constructor(feed: MirrorFeed<T>, host: PackerHost) {
    this.#feed = feed
    this.#host = host
  }

  /**
   * Returns a snapshot from whose version a watch can continue. The last one is used again while at least half of the
   * history after it is free, so that the follower has time to begin its watch. Undefined if there is none.
   */
  async open(): Promise<OpenedSnapshot | undefined> {
    const packed = await this.#usable()
    return packed && { ...packed.snapshot, until: this.#feed.position.sequence }
  }

  async #usable(): Promise<PackedFeed | undefined> {
    this.#dropOld()
    if (this.#packed !== undefined) return this.#packed
    const { clock } = this.#host
    if (this.#failedAt !== undefined && clock.now() - this.#failedAt < RETRY_MS) return undefined
    this.#packing ??= this.#pack().finally(() => {
      this.#packing = undefined
    })
    const packed = await this.#packing
    // Many changes may have come meanwhile.
    return packed !== undefined && this.#feed.canResume(packed.at.sequence) ? packed : undefined
  }

  /** The objects were deleted after lost access: no follower receives them any more. */
  clear(): void {
    this.#clears++
    this.#packed = undefined
  }

  #dropOld(): void {
    if (this.#packed !== undefined && !this.#isUsable(this.#packed.at)) this.#packed = undefined
  }

  #isUsable({ sequence, pushedBytes }: FeedPosition): boolean {
    const used = this.#feed.position.pushedBytes - pushedBytes
    return this.#feed.ended === undefined && this.#feed.canResume(sequence) && used <= this.#host.historyBytes / 2
  }

  async #pack(): Promise<PackedFeed | undefined> {
    const clears = this.#clears
    const { mirror, clock } = this.#host
    try {
      await mirror.prepare()
      const { pinned, at } = await this.#pin()
      let snapshot: SharedSnapshot
      try {
        snapshot = await this.#packPinned(pinned, at)
      } finally {
        pinned.close()
      }
      if (clears !== this.#clears || this.#feed.ended !== undefined) return undefined
      this.#failedAt = undefined
      const packed = { snapshot, at }
      this.#packed = packed
      void this.#dropWhenOld(packed)
      return packed
    } catch (error) {
      if (this.#feed.ended !== undefined) return undefined
      this.#failedAt = clock.now()
      emitWarning(`${messageOf(error)}; workers list instead`)
      return undefined
    }
  }

  /** Pins the objects in a moment in which the frames and the store have the same commits. */
  #pin(): Promise<{ readonly pinned: PinnedMirror; readonly at: FeedPosition }> {
    const { mirror } = this.#host
    const pin = () => ({ pinned: mirror.pin(), at: this.#feed.position })
    return this.#feed.atCommit(pin, () => !mirror.isWriting)
  }

  async #packPinned(pinned: PinnedMirror, { version }: FeedPosition): Promise<SharedSnapshot> {
    const { clock } = this.#host
    const { signal } = this.#feed
    const slice = new TimeSlice(clock)
    const blocks = new SharedBlockWriter()
    const sections: [string, Uint8Array][] = []
    const encode = (record: SavedRecord): string => encodeRecord(record, 'serveShared cannot pack')
    for (const part of pinned.pack(encode, randomSeed(), BLOCK_BYTES)) {
      if (part === undefined) {
        if (slice.isOverAfterCall()) await slice.turn(signal)
        continue
      }
      if ('block' in part) await addBlock(blocks, part.block)
      else sections.push([part.name, await copied(part, slice, signal)])
      if (slice.isOver) await slice.turn(signal)
    }
    const savedAt = wallNowOf(clock)
    return { format: SNAPSHOT_FORMAT, version, size: pinned.size, savedAt, sections, blocks: blocks.end() }
  }

  /** A snapshot that no later follower can use would be in memory beside the next one. */
  async #dropWhenOld(packed: PackedFeed): Promise<void> {
    try {
      while (this.#packed === packed) {
        await this.#host.clock.sleep(CHECK_MS, this.#feed.signal)
        this.#dropOld()
      }
    } catch {
      this.#packed = undefined // The feed has ended.
    }
  }
}

/** Followers import this file, and do not load node:crypto, which takes 0.3 MB in each thread. */
function randomSeed(): number {
  return crypto.getRandomValues(new Int32Array(1))[0] ?? 0
}

/** Adds a block, and frees its memory. */
async function addBlock(blocks: SharedBlockWriter, block: Uint8Array): Promise<void> {
  const { length } = block
  const bytes = await deflated(block)
  blocks.add(bytes, length)
  freeDeflated(bytes, length)
  freeBytes(block)
}

async function copied({ length, chunks }: PackedSection, slice: TimeSlice, signal: AbortSignal): Promise<Uint8Array> {
  const bytes = sharedBytes(length)
  let end = 0
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += COPY_BYTES) {
      const piece = chunk.subarray(at, at + COPY_BYTES)
      bytes.set(piece, end)
      end += piece.length
      if (slice.isOver) await slice.turn(signal)
    }
  }
  return bytes
}

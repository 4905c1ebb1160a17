import type { KeyValue } from './transport/etcd-messages.js'
import { lengthOf } from './transport/received-entry.js'

/** The largest value if the server has its default limit for requests. */
const LARGEST_VALUE = 1.5 * 1024 * 1024
/** Approximate size of an entry without its key and value, in bytes. */
const OVERHEAD = 32
/** A page should arrive within this time, in milliseconds. */
const PAGE_MS = 2_000

/** What earlier pages and lists of a source taught about the size of a page. */
export interface LearnedLimits {
  /** Most keys of a response that the client accepts. */
  acceptedKeys: number
  /** Most keys of a response that arrives in time. */
  timelyKeys: number
  /** Upper limit of `timelyKeys` after a page did not arrive at all; grows with each complete list. */
  mostTimelyKeys: number
  hasStreams: boolean
}

/** The keys of the next page: few at first, then by the size of the entries and the speed of the connection. */
export class PageLimit {
  readonly #pageSize: number
  readonly #pageBytes: number
  readonly #learned: LearnedLimits
  #keys: number
  #hasArrived = false

  constructor(pageSize: number, pageBytes: number, learned: LearnedLimits) {
    this.#pageSize = pageSize
    this.#pageBytes = pageBytes
    this.#learned = learned
    this.#keys = Math.floor(pageBytes / LARGEST_VALUE)
  }

  get keys(): number {
    const { acceptedKeys, timelyKeys } = this.#learned
    return Math.max(1, Math.min(this.#pageSize, acceptedKeys, timelyKeys, this.#keys))
  }

  arrived(kvs: readonly KeyValue[], ms: number): void {
    if (kvs.length === 0) return
    const bytes = kvs.reduce((sum, kv) => sum + lengthOf(kv) + OVERHEAD, 0)
    this.#keys = Math.min(kvs.length * 100, Math.floor((this.#pageBytes * kvs.length) / bytes))
    if (ms > PAGE_MS) this.#learned.timelyKeys = Math.max(1, Math.floor((kvs.length * PAGE_MS) / ms))
    else if (ms < PAGE_MS / 4)
      this.#learned.timelyKeys = Math.min(4 * this.#learned.timelyKeys, this.#learned.mostTimelyKeys)
    this.#hasArrived = true
  }

  get hasStreams(): boolean {
    return this.#learned.hasStreams
  }

  /**
   * A part of a stream failed after `ms`. The server determines the size of parts, which may be too large for the
   * connection: then later lists have pages. `isFinal`: the server has no streams, or no parts that are small enough.
   */
  streamFailed(isFinal: boolean, ms: number): void {
    if (isFinal || ms > PAGE_MS) this.#learned.hasStreams = false
  }

  tooLarge(keys: number): void {
    this.#learned.acceptedKeys = Math.max(1, Math.floor(keys / 4))
  }

  /**
   * A page that failed after a long time may have been too large for the connection. Smaller pages that arrive quickly
   * do not lift this limit before the list is complete: later entries may be as large as those of the page that failed.
   * A failed first page proves nothing about its size. Returns whether the next page is smaller.
   */
  failed(keys: number, ms: number): boolean {
    if (ms <= PAGE_MS || !this.#hasArrived) return false
    this.#learned.timelyKeys = this.#learned.mostTimelyKeys = Math.max(1, Math.floor(keys / 4))
    return keys > 1
  }

  completed(): void {
    this.#learned.mostTimelyKeys *= 4
  }
}

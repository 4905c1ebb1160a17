import type { EncodedParts } from './encoded-parts.js'

/** An encoded list. With `tail` and the frames after `after` it is the mirror at each later sequence. */
export interface EncodedList {
  readonly after: number
  readonly collections: ReadonlyMap<string, EncodedParts>
  readonly tail: readonly Uint8Array[]
}

/** What its list needs of a feed. */
export interface ListedFeed {
  readonly position: { readonly sequence: number }
  canResume(sequence: number): boolean
  /** Calls `act` in a step in which the frames include every commit that the store shows, and no other one. */
  atCommit<R>(act: () => R): Promise<R>
}

/** The list of a feed, which is encoded once for all its followers. */
export class FeedList {
  readonly #feed: ListedFeed
  readonly #encodeNow: () => Promise<EncodedList['collections']>
  #list: Promise<EncodedList> | undefined
  /** Of each list that is being encoded, the frames after its snapshot: the log may have dropped them at its end. */
  readonly #tails = new Set<Uint8Array[]>()

  /** `encodeNow` encodes the objects that the store shows when it is called. */
  constructor(feed: ListedFeed, encodeNow: () => Promise<EncodedList['collections']>) {
    this.#feed = feed
    this.#encodeNow = encodeNow
  }

  /** Returns a list after which the log of the feed has all frames. */
  async encoded(): Promise<EncodedList> {
    for (;;) {
      const { encoding } = await this.#feed.atCommit(() => ({ encoding: this.#encoding() }))
      const list = await encoding
      // Another request has begun the next list already, or lost access has dropped this one.
      if (this.#list !== encoding) continue
      if (this.#feed.canResume(list.after)) return list
      this.#list = undefined
    }
  }

  pushed(frame: Uint8Array): void {
    for (const tail of this.#tails) tail.push(frame)
  }

  /** No list that was begun before is returned any more. */
  drop(): void {
    this.#list = undefined
  }

  /** Frees the memory of the list. One that is being encoded continues. */
  free(): void {
    if (this.#tails.size === 0) this.drop()
  }

  #encoding(): Promise<EncodedList> {
    if (this.#list === undefined) {
      const list = this.#encode()
      this.#list = list
      list.catch(() => {
        if (this.#list === list) this.#list = undefined
      })
    }
    return this.#list
  }

  async #encode(): Promise<EncodedList> {
    const tail: Uint8Array[] = []
    this.#tails.add(tail)
    try {
      const collections = await this.#encodeNow()
      // In such a step the frames end with a whole batch.
      return await this.#feed.atCommit(() => ({ after: this.#feed.position.sequence, collections, tail: [...tail] }))
    } finally {
      this.#tails.delete(tail)
    }
  }
}

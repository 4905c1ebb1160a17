/** What the consumer of a feed uses, beside the later changes. */
export interface FeedWants {
  readonly bookmarks: boolean
  /** The adds of the initial replay. Without them it has no objects, which are read only if a scope needs that. */
  readonly initialAdds: boolean
}

export const WANTS_CHANGES: FeedWants = { bookmarks: false, initialAdds: false }
export const WANTS_BATCHES: FeedWants = { bookmarks: true, initialAdds: true }
export const WANTS_ADDS: FeedWants = { bookmarks: false, initialAdds: true }

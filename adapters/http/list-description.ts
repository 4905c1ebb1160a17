/** The response to a list request. */
export interface ListDescription {
  /** The version of the list. */
  readonly version: string
  /** The names of the chunks, in order. Each is a JSON array of events. */
  readonly chunks: readonly string[]
  /** The number of objects in the chunks. */
  readonly size: number
  /** The changes that follow the chunks: a watch after `after` that ends after `until`. */
  readonly changes: { readonly after: string; readonly until: number }
  /** Whether the server has ended the feed that the request names with `ended`, so that the list is of a later epoch. */
  readonly hasEnded?: boolean
}

export interface FeedCounts {
  succeeded: number
  /** Also calls that exceeded `timeoutMs`. */
  failed: number
  /** The runs that followed a failure of their key. */
  retried: number
  slow: number
}

export type SubscriptionKind = 'subscription' | 'stream' | 'controller'

export interface NamedCounts {
  readonly kind: SubscriptionKind
  readonly name: string
  readonly counts: FeedCounts
}

/** Subscriptions with further names share the counts of those without a name. */
const MAX_NAMES = 1_000
/** The name under which subscriptions without a name count. One that has this name counts with them. */
const UNNAMED = 'unnamed'

export function newCounts(): FeedCounts {
  return { succeeded: 0, failed: 0, retried: 0, slow: 0 }
}

/** Subscriptions of one kind and name share their counts, also one after the other, so that a count never decreases. */
export class CountsByName {
  readonly #counts = new Map<string, NamedCounts>()

  of(kind: SubscriptionKind, name: string = UNNAMED): NamedCounts {
    const id = `${kind} ${name}`
    const known = this.#counts.get(id)
    if (known !== undefined) return known
    if (name !== UNNAMED && this.#counts.size >= MAX_NAMES) return this.of(kind)
    const counts: NamedCounts = { kind, name, counts: newCounts() }
    this.#counts.set(id, counts)
    return counts
  }

  get all(): readonly NamedCounts[] {
    return [...this.#counts.values()]
  }
}

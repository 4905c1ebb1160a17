import type { MirrorState } from '../../contract/status.js'

/**
 * A picture of an informer for people and logs. It can be serialised as JSON: it has no bigint, no Date and no object
 * of the store. Its size is limited: texts have at most 200 characters, and collections a fixed number of items.
 *
 * @example
 * ```ts
 * app.get('/debug/orders', (_request, response) => {
 *   response.json(orders.inspect()) // Has keys, values of indexes and messages of errors, but no objects.
 * })
 * ```
 */
export interface Inspection {
  /** The name of the informer. */
  readonly name: string
  /** When the picture was made, as an ISO time. */
  readonly at: string
  /** The state; for a set, of the source in the worst state. */
  readonly state: MirrorState
  /** The cause of the state, in words. */
  readonly reason: string
  /** Whether the first list of each source is in the store. */
  readonly isSynced: boolean
  /** The number of objects. */
  readonly objects: number
  /** The last 50 changes of state, the latest last. */
  readonly transitions: readonly {
    /** When it happened, as an ISO time. */
    readonly at: string
    /** The name of the source. */
    readonly source: string
    /** The state before. */
    readonly from: MirrorState
    /** The state after. */
    readonly to: MirrorState
    /** The cause, in words. */
    readonly reason: string
  }[]
  /** The sources; at most 50. */
  readonly sources: {
    /** The number of all of them. */
    readonly count: number
    readonly first: readonly {
      /** The name of the source; in a set, its name there. */
      readonly name: string
      /** The state of the mirror of this source. */
      readonly state: MirrorState
      /** The cause of the state, in words. */
      readonly reason: string
      /** The version of its objects in the store. */
      readonly version: string | null
      /** Milliseconds since the source last responded. */
      readonly silentMs: number
      /** Milliseconds from the commit of the newest batch at the source to its arrival, if the source has times. */
      readonly lagMs: number | null
      /** Attempts since the source last responded. */
      readonly attempt: number
      /** Milliseconds until the next attempt. */
      readonly retryInMs: number | null
      /** The number of lists after the first one. */
      readonly relists: number
      /** The number of watches that were opened again. */
      readonly reconnects: number
      /** The message of the last failure. */
      readonly lastError: string | null
      /** The last proof that the store is equal to the source. */
      readonly proof: {
        /** The version at which both were equal. */
        readonly version: string
        /** When the read began that proves it, as an ISO time. */
        readonly at: string
        /** Milliseconds since then. */
        readonly ageMs: number
        /** Whether a list or an audit proves it. */
        readonly by: 'list' | 'audit'
        /** The number of keys that differed in the last completed audit. */
        readonly foundDrift: number
      } | null
      /** When the content was saved that readers see, as an ISO time. Null unless the state is `stale`. */
      readonly savedAt: string | null
    }[]
  }
  /** The work of a view; null for any other informer. */
  readonly view: {
    /** The names of the informers that it reads; at most 50. */
    readonly inputs: { readonly count: number; readonly first: readonly string[] }
    /** How often its function was called, audits included. */
    readonly evaluations: number
    /** Calls for each change of an input; null before the first change. Many mean that `from` is the wrong side. */
    readonly evaluationsPerChange: number | null
    /** The number of keys, values and ranges that the results depend on, counted for each result. */
    readonly reads: number
  } | null
  /** The subscriptions, those with the oldest work first; at most 50. */
  readonly subscriptions: {
    /** The number of all of them. */
    readonly count: number
    readonly first: readonly {
      /** The option `name`; null without one. */
      readonly name: string | null
      /** Whether it is the result of `subscribe`, `changes` or `reconcile`. */
      readonly kind: 'subscription' | 'stream' | 'controller'
      /** The scope: the key, the values of indexes, and whether there is a filter. */
      readonly scope: {
        readonly key: string | null
        readonly where: Readonly<Record<string, string>>
        readonly isFiltered: boolean
      }
      /** Whether its initial replay was handled. */
      readonly isSynced: boolean
      /** The changes that wait, and for how long the oldest has waited. */
      readonly backlog: { readonly keys: number; readonly oldestMs: number }
      /** The handler or run that has been running for longest, in milliseconds. */
      readonly running: { readonly key: string; readonly ms: number } | null
      /** The asynchronous handler or run that took longest of those that have ended. */
      readonly slowest: { readonly key: string; readonly ms: number; readonly endedAt: string } | null
      /** The number of calls that succeeded, of all subscriptions of this kind and name. */
      readonly succeeded: number
      /** The number of calls that failed, of all subscriptions of this kind and name. */
      readonly failed: number
      /** The keys of a controller whose last run failed. */
      readonly failing: {
        readonly count: number
        readonly first: readonly {
          /** The key. */
          readonly key: string
          /** The number of the next run. */
          readonly attempt: number
          /** Milliseconds until the next run; 0 if it is due or runs, null if it is not retried. */
          readonly retryInMs: number | null
          /** The message of the last failure. */
          readonly lastError: string
        }[]
      }
    }[]
  }
  /** The indexes; at most 50. */
  readonly indexes: {
    /** The number of all of them. */
    readonly count: number
    readonly first: readonly {
      /** The name of the index. */
      readonly name: string
      /**
       * The number of different values. Null if an ordered or compound index is not sorted yet, or has more than 100 000
       * objects.
       */
      readonly values: number | null
      /** The ten values with the most objects. Empty if there are more than 100 000 values, or an unknown number. */
      readonly largest: readonly { readonly value: string; readonly objects: number }[]
    }[]
  }
  /** The keys of invalid objects, with their errors; at most 20. */
  readonly invalid: {
    readonly count: number
    readonly first: readonly { readonly key: string; readonly error: string }[]
  }
  /**
   * An estimate of the memory of the store, without its queues and snapshots: the mean size of up to 100 sampled
   * objects, 150 bytes for the table entry of each object, 40 for its place in each index, and 170 for each value of an
   * index by equality. For objects of JSON it is within 30 % of the heap. What sampled objects have in common counts
   * once: parts, and texts of at most 10 characters, which V8 shares in JSON. Longer texts count for each object,
   * although a program may share them.
   */
  readonly memory: {
    /** The estimate for the whole store. */
    readonly bytes: number
    /** The mean size of the sampled objects. */
    readonly bytesPerObject: number
    /** The number of sampled objects. */
    readonly sampled: number
  }
}

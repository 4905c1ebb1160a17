import { expired, forked } from '../common/source-errors.js'
import { assertCurrent, type BucketState, readState } from './connection/bucket-stream.js'
import type { Session } from './connection/session.js'
import type { KnownKeys } from './known-keys.js'
import type { Consumer } from './messages/consumer.js'

/** The subjects of a stream that have a message, for a mirror that has read everything up to `upTo`. */
interface Present {
  readonly subjects: ReadonlySet<string>
  readonly upTo: number
  /** Undefined if the stream changed while they were read. */
  readonly extent: string | undefined
  /** Whether the leader has the same number of subjects. */
  readonly isConfirmed: boolean
}

const MAX_PERIODS = 32

export interface RemovalSearchOptions {
  readonly session: Session
  readonly bucket: string
  /** The stream that the watch reads. */
  readonly state: BucketState
  readonly keys: KnownKeys
  /** Whether the mirror has all keys of the bucket: then their number is compared first. */
  readonly isWhole: boolean
  readonly everyMs: number
  onFound(): void
  /** The number of subjects that the leader has of the mirrored keys. */
  count(): Promise<number>
  /** Creates a consumer of the newest message of each subject, without values. */
  consumer(): Promise<Consumer>
}

/**
 * Finds keys that were removed without a delete marker: expired, purged, or deleted with a marker that is gone too. The
 * stream has no event for them. Its subjects are compared with those that the mirror has seen.
 */
export class RemovalSearch {
  readonly #options: RemovalSearchOptions
  #nextAt = 0
  /** The number of periods until the next search. It doubles while a replica lags behind the leader. */
  #periods = 1
  /** The extent of the stream at which nothing was missing. */
  #extent = ''
  #counted = ''
  #isReading = false
  /** Whether the first comparison is over: no key of the mirror was removed before this watch began. */
  hasCompared = false
  #present: Present | undefined

  constructor(options: RemovalSearchOptions) {
    this.#options = options
  }

  /** Compares the numbers if a search is due. No message may be applied meanwhile. */
  async begin(position: number): Promise<void> {
    const { session, everyMs, keys, isWhole } = this.#options
    if (this.#isReading || this.#present !== undefined || session.clock.now() < this.#nextAt) return
    this.#nextAt = session.clock.now() + everyMs * this.#periods
    const { extent, lastSeq, subjects } = await this.#state()
    if (extent === this.#extent) return
    this.#counted = extent
    if (isWhole && lastSeq >= position) keys.expectSize(lastSeq, subjects)
    else this.#search()
  }

  /** The subjects of the keys that are gone, when the mirror has read up to `position`. */
  missing(position: number): readonly string[] {
    const { keys } = this.#options
    const isComplete = keys.takeSizeResult(position)
    if (isComplete === true) {
      this.#extent = this.#counted
      this.hasCompared = true
    }
    if (isComplete === false) this.#search()
    const present = this.#present
    if (present === undefined || position < present.upTo) return []
    this.#present = undefined
    this.hasCompared = true
    // A server that crashes may have messages again that had been erased.
    const unknown = keys.unknown(present.subjects)
    if (unknown !== undefined) throw expired(`the bucket has "${unknown}" again, which had been removed`)
    const missing = keys.missing(present.subjects)
    this.#periods = present.extent === undefined || present.isConfirmed ? 1 : Math.min(2 * this.#periods, MAX_PERIODS)
    if (keys.isUntouched && present.isConfirmed) this.#extent = present.extent ?? ''
    return missing
  }

  #search(): void {
    this.#isReading = true
    this.#options.keys.begin()
    this.#read()
      .then((present) => {
        this.#present = present
        this.#options.onFound()
      })
      .catch(() => {
        // The session has ended, or a later search succeeds. A watch may wait for the first one.
        if (!this.hasCompared) this.#nextAt = 0
      })
      .finally(() => {
        this.#isReading = false
      })
  }

  /** They may have a message that was removed meanwhile, or that the replica that is read has not removed yet. */
  async #read(): Promise<Present> {
    const before = await this.#state()
    const consumer = await this.#options.consumer()
    try {
      const subjects = new Set<string>()
      for await (const { messages } of consumer.through()) for (const { subject } of messages) subjects.add(subject)
      const after = await this.#state()
      const extent = before.extent === after.extent ? after.extent : undefined
      const isConfirmed = subjects.size === (await this.#options.count())
      return { subjects, upTo: after.lastSeq, extent, isConfirmed }
    } finally {
      consumer.close()
    }
  }

  /** The state of the stream. Subjects of another stream, or of a leader that was replaced, prove nothing. */
  async #state(): Promise<BucketState> {
    const { session, bucket, state } = this.#options
    const now = await readState(session, bucket)
    if (now.created !== state.created) session.end(forked('the stream of the bucket was created again'))
    session.assertOpen()
    assertCurrent(now)
    return now
  }
}

import { type EtcdVersion, type Fingerprint, formatVersion } from '../history/etcd-version.js'
import type { HistoryFingerprint } from '../history/fingerprint.js'
import { refillFingerprint } from '../history/history-check.js'
import type { EtcdEvent } from '../transport/etcd-messages.js'
import type { KeyRange } from '../transport/key-range.js'
import type { Session } from '../transport/session.js'

/** The position of a watch: all events up to its revision have been delivered. */
export class WatchPosition {
  readonly #clusterId: string
  readonly #term: number
  readonly #raftIndex: number
  readonly #newest: HistoryFingerprint
  #revision: number

  constructor(
    { clusterId, term, revision, raftIndex }: Omit<EtcdVersion, keyof Fingerprint>,
    newest: HistoryFingerprint,
  ) {
    this.#clusterId = clusterId
    this.#term = term
    this.#raftIndex = raftIndex
    this.#revision = revision
    this.#newest = newest
  }

  get revision(): number {
    return this.#revision
  }

  /** All events up to `revision` have been delivered. */
  advanceTo(revision: number): void {
    if (revision > this.#revision) this.#revision = revision
  }

  /** These events are delivered: whole revisions, in order. `settle` releases their message. */
  apply(events: readonly EtcdEvent[]): void {
    this.#newest.apply(events)
    this.advanceTo(events.at(-1)?.kv.modRevision ?? 0)
  }

  /** Called after the last events of a message: nothing refers to the message any more. */
  settle(): void {
    this.#newest.settle()
  }

  /** The fingerprint at this position. Reads the newest entry if all remembered entries have been deleted. */
  async fingerprint(session: Session, range: KeyRange): Promise<Fingerprint> {
    if (this.#newest.isUnknown) await refillFingerprint(this.#newest, session, range, this.#revision)
    return this.#newest.fingerprint()
  }

  /** The version of the last event. */
  async version(session: Session, range: KeyRange): Promise<string> {
    const fingerprint = await this.fingerprint(session, range)
    const [clusterId, term, revision, raftIndex] = [this.#clusterId, this.#term, this.#revision, this.#raftIndex]
    return formatVersion({ clusterId, term, revision, raftIndex, ...fingerprint })
  }
}

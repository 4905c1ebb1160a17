import { type EtcdVersion, type Fingerprint, formatVersion } from '../history/etcd-version.js'
import type { HistoryFingerprint } from '../history/fingerprint.js'
import { refillFingerprint } from '../history/history-check.js'
import type { EtcdEvent } from '../transport/etcd-messages.js'
import type { KeyRange } from '../transport/key-range.js'
import type { Session } from '../transport/session.js'

/** The position of a watch: all events up to its revision have been delivered. */
export class WatchPosition {
  readonly #newest: HistoryFingerprint
  #at: Omit<EtcdVersion, keyof Fingerprint>

  constructor(at: Omit<EtcdVersion, keyof Fingerprint>, newest: HistoryFingerprint) {
    this.#at = at
    this.#newest = newest
  }

  get revision(): number {
    return this.#at.revision
  }

  advanceTo(revision: number): void {
    if (revision > this.revision) this.#at = { ...this.#at, revision }
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
    if (this.#newest.isUnknown) await refillFingerprint(this.#newest, session, range, this.revision)
    return this.#newest.fingerprint()
  }

  async version(session: Session, range: KeyRange): Promise<string> {
    const fingerprint = await this.fingerprint(session, range)
    return formatVersion({ ...this.#at, ...fingerprint })
  }
}

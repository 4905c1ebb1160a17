import { type EtcdVersion, type Fingerprint, formatVersion } from './etcd-version.js'
import { refill } from './identity.js'
import type { KeyRange } from './key-range.js'
import type { EtcdEvent } from './messages.js'
import type { Newest } from './newest.js'
import type { Visit } from './visit.js'

/** How far a watch has told, and the proof of what it has told. */
export class Position {
  readonly clusterId: string
  readonly #term: number
  readonly #raftIndex: number
  readonly #newest: Newest
  #revision: number

  constructor({ clusterId, term, revision, raftIndex }: Omit<EtcdVersion, keyof Fingerprint>, newest: Newest) {
    this.clusterId = clusterId
    this.#term = term
    this.#raftIndex = raftIndex
    this.#revision = revision
    this.#newest = newest
  }

  get revision(): number {
    return this.#revision
  }

  /** How many entries there are. */
  get count(): number {
    return this.#newest.count
  }

  /** Everything up to `revision` has been told. */
  reach(revision: number): void {
    if (revision > this.#revision) this.#revision = revision
  }

  /** These events have been told: whole revisions, in order. */
  tell(events: readonly EtcdEvent[]): void {
    this.#newest.tell(events)
    this.reach(events.at(-1)?.kv.modRevision ?? 0)
  }

  /** The version of what has been told. Asks the server where the newest entries that were remembered are all gone. */
  async version(visit: Visit, range: KeyRange): Promise<string> {
    if (this.#newest.isUnknown) await refill(this.#newest, visit, range, this.#revision)
    const [{ clusterId }, term, revision, raftIndex] = [this, this.#term, this.#revision, this.#raftIndex]
    return formatVersion({ clusterId, term, revision, raftIndex, ...this.#newest.fingerprint() })
  }
}

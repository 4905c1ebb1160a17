import { createHash } from 'node:crypto'
import type { EtcdEvent, KeyValue } from '../transport/etcd-messages.js'
import type { Fingerprint } from './etcd-version.js'

/** How many of the newest entries are remembered, for when the newest is deleted. */
export const REMEMBERED = 32

interface Candidate {
  readonly modRevision: number
  /** Undefined once the digest is computed: the bytes would keep a whole message in memory. */
  bytes: KeyValue | undefined
  digest: string
}

/** Counts the keys of a range and remembers its newest entries, for a later history check. */
export class HistoryFingerprint {
  /** By key, oldest first. Invariant: each existing entry that is newer than the oldest of these is one of them. */
  readonly #candidates = new Map<string, Candidate>()
  count: number

  constructor(count: number) {
    this.count = count
  }

  static of(count: number, kvs: readonly KeyValue[]): HistoryFingerprint {
    const newest = new HistoryFingerprint(count)
    newest.learn(kvs)
    return newest
  }

  get isUnknown(): boolean {
    return this.count > 0 && this.#candidates.size === 0
  }

  learn(kvs: readonly KeyValue[]): void {
    for (const kv of [...kvs].sort((a, b) => a.modRevision - b.modRevision)) this.#remember(kv)
    this.settle()
  }

  /** In the order of revisions. Without `settle` afterwards, the entries keep their messages in memory. */
  apply(events: readonly EtcdEvent[]): void {
    for (const { isDelete, kv } of events) {
      if (isDelete) this.count--
      else if (kv.createRevision === kv.modRevision) this.count++
    }
    // Of many events only the last ones can contain the newest entries.
    const last = events.slice(-REMEMBERED)
    const isEnough = events.length > REMEMBERED && last.at(-1)?.isDelete === false
    if (isEnough) this.#candidates.clear()
    for (const { isDelete, kv } of isEnough ? last : events) {
      if (isDelete) this.#candidates.delete(nameOf(kv))
      else this.#remember(kv)
    }
  }

  /** Computes the missing digests, and releases the messages that contain the entries. */
  settle(): void {
    for (const candidate of this.#candidates.values()) settled(candidate)
  }

  fingerprint(): Fingerprint {
    let newest: Candidate | undefined
    for (const candidate of this.#candidates.values()) newest = candidate
    if (newest === undefined) return { count: this.count, newest: 0, digest: this.count === 0 ? '-' : '?' }
    return { count: this.count, newest: newest.modRevision, digest: settled(newest).digest }
  }

  #remember(kv: KeyValue): void {
    const name = nameOf(kv)
    this.#candidates.delete(name) // It is added again at the end.
    this.#candidates.set(name, { modRevision: kv.modRevision, bytes: kv, digest: '' })
    if (this.#candidates.size <= REMEMBERED) return
    for (const oldest of this.#candidates.keys()) {
      this.#candidates.delete(oldest)
      break
    }
  }
}

function settled(candidate: Candidate): Candidate {
  if (candidate.bytes === undefined) return candidate
  candidate.digest = digestOf(candidate.bytes)
  candidate.bytes = undefined
  return candidate
}

export function digestOf({ key, value }: KeyValue): string {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(key.length)
  return createHash('sha256').update(length).update(key).update(value).digest('base64url').slice(0, 16)
}

function nameOf({ key }: KeyValue): string {
  return key.toString('latin1')
}

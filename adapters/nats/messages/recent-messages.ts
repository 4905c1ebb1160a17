import type { Version } from '../../../src/contract/version.js'
import { expired, forked } from '../../common/source-errors.js'
import type { Consumer } from './consumer.js'
import type { StoredMessage } from './stored-message.js'

type Identity = Pick<StoredMessage, 'subject' | 'seq' | 'time'>

/** The number of subjects whose newest messages identify a history. */
const MOST = 256
/** How many subjects are looked up at a time: one by one would take too long over a line with a delay. */
const LOOKUPS = 64

/**
 * The newest messages that a mirror has, one of each subject. If the newest of all was replaced in the stream, the
 * others show whether the stream has continued from there, or was restored and has been written again.
 */
export class RecentMessages {
  /** In the order of their sequences. */
  readonly #bySubject = new Map<string, Identity>()
  /** Whether the mirror has had no message of another subject. */
  #isAll = true
  #pending: { readonly messages: readonly StoredMessage[]; readonly version: Version } | undefined

  add(messages: readonly StoredMessage[]): void {
    for (const { subject, seq, time } of messages) {
      this.#bySubject.delete(subject)
      this.#bySubject.set(subject, { subject, seq, time })
      if (this.#bySubject.size <= MOST) continue
      const [oldest = ''] = this.#bySubject.keys()
      this.#bySubject.delete(oldest)
      this.#isAll = false
    }
  }

  /** Called before the mirror receives the messages of a batch. It may end before it has applied them. */
  expect(messages: readonly StoredMessage[], version: Version): void {
    this.#pending = { messages, version }
  }

  /** Called after the mirror has the last batch, or when it resumes at `version`. */
  settle(version?: Version): void {
    const { messages, version: expected } = this.#pending ?? {}
    if (messages !== undefined && (version === undefined || version === expected)) this.add(messages)
    this.#pending = undefined
  }

  get from(): number {
    const [oldest] = this.#bySubject.values()
    return this.#isAll || oldest === undefined ? 1 : oldest.seq
  }

  /**
   * Compares the remaining messages of the history of a mirror at `seq`, and those that replaced the others. Throws
   * `EPOCH_CHANGED` if another history is proved, and `VERSION_EXPIRED` if no message remains. Otherwise a watch from
   * `seq` misses no change.
   */
  async assertContinues(consumer: Consumer, seq: number, lastSeq: (subject: string) => Promise<number>): Promise<void> {
    const unseen = new Map(this.#bySubject)
    let isProved = this.#isAll
    for await (const { messages } of consumer.through()) {
      for (const message of messages) {
        const known = this.#bySubject.get(message.subject)
        if (message.seq > seq) {
          unseen.delete(message.subject)
          continue
        }
        if (known === undefined || message.seq > known.seq) throw anotherMessage(message)
        if (message.seq < known.seq) continue // An older revision.
        if (message.time !== known.time) throw anotherMessage(message)
        unseen.delete(message.subject)
        isProved = true
      }
    }
    const lookUp = async ({ subject, seq: known }: Identity): Promise<void> => {
      const last = await lastSeq(subject)
      if (last > 0 && last <= seq) throw forked(`it has no message ${known}, and nothing replaced it`)
    }
    const left = [...unseen.values()]
    while (left.length > 0) await Promise.all(left.splice(0, LOOKUPS).map(lookUp))
    if (!isProved) throw expired('all messages that identify its history were replaced')
  }
}

function anotherMessage({ seq }: Identity): Error {
  return forked(`its message ${seq} is another`)
}

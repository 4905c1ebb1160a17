import type { StoredMessage } from './messages/stored-message.js'

/**
 * The subjects of which a mirror has seen a message. They include all keys of the mirror. A subject that the stream no
 * longer has was removed without a marker that could be read.
 */
export class KnownKeys {
  readonly #values = new Set<string>()
  readonly #markers = new Set<string>()
  /** Subjects with a message since `begin`; undefined if no comparison is in progress. */
  #touched: Set<string> | undefined
  #expected: { readonly seq: number; readonly size: number } | undefined
  #isComplete: boolean | undefined

  has(subject: string): boolean {
    return this.#values.has(subject)
  }

  /** Called before the mirror receives the messages: it must never have a key that is not here. */
  expect(messages: readonly StoredMessage[]): void {
    for (const { subject, isDelete, seq } of messages) {
      if (this.#expected !== undefined && seq > this.#expected.seq) this.#compareSize()
      this.#touched?.add(subject)
      if (isDelete) {
        if (!this.#values.has(subject)) this.#markers.add(subject)
      } else {
        this.#markers.delete(subject)
        this.#values.add(subject)
      }
    }
  }

  /** Called after the mirror has the messages. */
  settle(messages: readonly StoredMessage[]): void {
    const deleted = new Map(messages.map(({ subject, isDelete }) => [subject, isDelete]))
    for (const [subject, isDelete] of deleted) {
      if (isDelete && this.#values.delete(subject)) this.#markers.add(subject)
    }
  }

  expectSize(seq: number, size: number): void {
    this.#expected = { seq, size }
    this.#isComplete = undefined
  }

  /** Whether the number of subjects was the expected one; undefined before that sequence, and after the first call. */
  takeSizeResult(position: number): boolean | undefined {
    if (this.#expected !== undefined && position >= this.#expected.seq) this.#compareSize()
    const isComplete = this.#isComplete
    this.#isComplete = undefined
    return isComplete
  }

  #compareSize(): void {
    this.#isComplete = this.#values.size + this.#markers.size === this.#expected?.size
    this.#expected = undefined
  }

  /** Begins a comparison: a later message of a subject excludes it. */
  begin(): void {
    this.#touched = new Set()
  }

  get isUntouched(): boolean {
    return this.#touched?.size === 0
  }

  /** The keys that are not among the subjects of the stream. Forgets removed markers. */
  missing(present: ReadonlySet<string>): string[] {
    const isMissing = (subject: string): boolean => !present.has(subject) && this.#touched?.has(subject) !== true
    for (const subject of this.#markers) if (isMissing(subject)) this.#markers.delete(subject)
    return [...this.#values].filter(isMissing)
  }

  /** A subject of the stream that the mirror does not know, although it has read everything. */
  unknown(present: ReadonlySet<string>): string | undefined {
    const isKnown = (subject: string): boolean => this.#values.has(subject) || this.#markers.has(subject)
    return [...present].find((subject) => !isKnown(subject) && this.#touched?.has(subject) !== true)
  }

  forget(subjects: readonly string[]): void {
    for (const subject of subjects) this.#values.delete(subject)
  }
}

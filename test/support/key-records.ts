import type { ReadyKey } from '../../src/queue/ready-keys.js'
import type { KeyRecords } from '../../src/queue/work-queue.js'

/** Keeps the records of all keys. */
export class AllKeyRecords implements KeyRecords {
  readonly #records = new Map<string, ReadyKey>()

  get(key: string): ReadyKey | undefined {
    return this.#records.get(key)
  }

  of(key: string): ReadyKey {
    const record = this.#records.get(key) ?? { key, list: undefined, previous: undefined, next: undefined }
    this.#records.set(key, record)
    return record
  }
}

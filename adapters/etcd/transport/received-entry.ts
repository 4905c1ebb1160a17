import { isInRange, type KeyRange } from './key-range.js'

interface EntryBytes {
  readonly key: Buffer
  readonly value: Buffer
}

/** An entry inside of a response. Its key and its value become Buffers only when they are read: most are not. */
export class ReceivedEntry implements EntryBytes {
  readonly response: Buffer
  readonly keyAt: number
  readonly keyEnd: number
  readonly valueAt: number
  readonly valueEnd: number
  readonly createRevision: number
  readonly modRevision: number

  constructor(
    response: Buffer,
    keyAt: number,
    keyEnd: number,
    valueAt: number,
    valueEnd: number,
    createRevision: number,
    modRevision: number,
  ) {
    this.response = response
    this.keyAt = keyAt
    this.keyEnd = keyEnd
    this.valueAt = valueAt
    this.valueEnd = valueEnd
    this.createRevision = createRevision
    this.modRevision = modRevision
  }

  get key(): Buffer {
    return this.response.subarray(this.keyAt, this.keyEnd)
  }

  get value(): Buffer {
    return this.response.subarray(this.valueAt, this.valueEnd)
  }
}

export function lengthOf(kv: EntryBytes): number {
  return kv instanceof ReceivedEntry ? kv.keyEnd - kv.keyAt + kv.valueEnd - kv.valueAt : kv.key.length + kv.value.length
}

export function isEntryInRange(kv: EntryBytes, range: KeyRange): boolean {
  return kv instanceof ReceivedEntry ? isInRange(kv.response, range, kv.keyAt, kv.keyEnd) : isInRange(kv.key, range)
}

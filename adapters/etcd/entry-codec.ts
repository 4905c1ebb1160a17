import type { Delete, Invalid, Put } from '../../src/contract/source.js'
import { type CodecName, type KeyEncoding, ValueCodec } from '../shared/value-codec.js'
import type { EtcdCodec } from './codec.js'
import type { KeyValue } from './transport/etcd-messages.js'

/** Makes events of etcd's entries, for lists and watches. */
export class EntryCodec<T> {
  readonly #codec: ValueCodec<T>

  constructor(codec: CodecName | EtcdCodec<T>, keys: KeyEncoding) {
    this.#codec = new ValueCodec(codec, keys)
  }

  put({ key: bytes, value, modRevision }: KeyValue): Put<T> | Invalid {
    const key = this.#codec.key(bytes)
    const version = String(modRevision)
    try {
      return { type: 'put', key, object: this.#codec.decode(value, key), version }
    } catch (error) {
      return { type: 'invalid', key, error, version }
    }
  }

  delete({ key, modRevision }: KeyValue): Delete<T> {
    return { type: 'delete', key: this.#codec.key(key), version: String(modRevision) }
  }

  /** The key in the store. */
  key(bytes: Buffer): string {
    return this.#codec.key(bytes)
  }
}

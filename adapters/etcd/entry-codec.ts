import type { Delete, Invalid, Put } from '../../src/contract/source.js'
import { type CodecName, type KeyEncoding, ValueCodec } from '../common/value-codec.js'
import type { EtcdCodec } from './etcd-options.js'
import type { KeyValue } from './transport/etcd-messages.js'
import { ReceivedEntry } from './transport/received-entry.js'

export class EntryCodec<T> {
  readonly #codec: ValueCodec<T>

  constructor(codec: CodecName | EtcdCodec<T>, keys: KeyEncoding) {
    this.#codec = new ValueCodec(codec, keys)
  }

  put(kv: KeyValue): Put<T> | Invalid {
    const key = this.key(kv)
    const version = String(kv.modRevision)
    try {
      return { type: 'put', key, object: this.#object(kv, key), version }
    } catch (error) {
      return { type: 'invalid', key, error, version }
    }
  }

  delete(kv: KeyValue): Delete<T> {
    return { type: 'delete', key: this.key(kv), version: String(kv.modRevision) }
  }

  key(kv: KeyValue): string {
    return kv instanceof ReceivedEntry ? this.#codec.key(kv.response, kv.keyAt, kv.keyEnd) : this.#codec.key(kv.key)
  }

  #object(kv: KeyValue, key: string): T {
    return kv instanceof ReceivedEntry
      ? this.#codec.decode(kv.response, key, kv.valueAt, kv.valueEnd)
      : this.#codec.decode(kv.value, key)
  }
}

import { isUtf8 } from 'node:buffer'
import type { Invalid, Put } from '../../src/contract/source.js'
import { assertJsonDepth, parseJson } from '../shared/json-depth.js'
import type { KeyValue } from './transport/etcd-messages.js'

/** Makes an object of the value that lies under a key. What it throws makes that one object invalid. */
export type EtcdCodec<T> = (value: Uint8Array, key: string) => T

/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type EtcdKeys = 'string' | 'bytes'

/** Half a character, which no UTF-8 can hold. */
const NO_UTF8 = 0xd800

/** Of the codecs that have names. Bytes are copied: those that came belong to a whole message. */
const codecs: Readonly<Record<'json' | 'string' | 'bytes', (value: Buffer) => unknown>> = {
  json: (value) => {
    const text = utf8(value, 'the value')
    assertJsonDepth(text)
    return parseJson(text)
  },
  string: (value) => utf8(value, 'the value'),
  bytes: (value) => new Uint8Array(value),
}

/** Makes events of what etcd holds, the same in a list and in a watch. */
export class EntryCodec<T> {
  readonly #decode: (value: Buffer, key: string) => T
  readonly #keys: EtcdKeys

  constructor(codec: keyof typeof codecs | EtcdCodec<T>, keys: EtcdKeys) {
    this.#decode = typeof codec === 'function' ? codec : (codecs[codec] as (value: Buffer) => T)
    this.#keys = keys
  }

  put({ key, value, modRevision }: KeyValue): Put<T> | Invalid {
    const name = this.key(key)
    const version = String(modRevision)
    try {
      if (name.charCodeAt(0) === NO_UTF8 && this.#keys === 'string') assertUtf8(key, 'the key')
      const object = this.#decode(value, name)
      if (object instanceof Promise) throw asynchronous(object)
      return { type: 'put', key: name, object, version }
    } catch (error) {
      return { type: 'invalid', key: name, error, version }
    }
  }

  /** The key in the store. One that is no UTF-8 shows in hexadecimal after half a character. */
  key(bytes: Buffer): string {
    if (this.#keys === 'bytes') return bytes.toString('latin1')
    return isUtf8(bytes) ? bytes.toString() : `${String.fromCharCode(NO_UTF8)}${bytes.toString('hex')}`
  }
}

function asynchronous(object: Promise<unknown>): TypeError {
  object.catch(() => {})
  return new TypeError('the codec gave a promise: it must give the object itself')
}

function utf8(bytes: Buffer, what: string): string {
  assertUtf8(bytes, what)
  return bytes.toString()
}

function assertUtf8(bytes: Buffer, what: string): void {
  if (!isUtf8(bytes))
    throw new TypeError(`${what} is no UTF-8 (${what === 'the key' ? 'keys' : 'codec'}: "bytes" takes any)`)
}

import { isUtf8 } from 'node:buffer'
import { messageOf } from '../../../src/contract/errors.js'
import type { Delete, Invalid, Put } from '../../../src/contract/source.js'
import { assertJsonDepth, parseJson } from '../../shared/json-depth.js'

/** Makes an object of what lies under a key. What it throws makes that one object invalid. */
export type RedisDecode<T> = (value: Uint8Array, key: string) => T
/** Makes what lies under a key of an object. */
export type RedisEncode<T> = (object: T, key: string) => Uint8Array | string

export type RedisCodecName = 'json' | 'string' | 'bytes'
/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type RedisKeys = 'string' | 'bytes'

/** Half a character, which no UTF-8 can hold. */
const NO_UTF8 = 0xd800

/** Bytes are copied: those that came belong to a whole answer. */
const decoders: Readonly<Record<RedisCodecName, (value: Buffer | string) => unknown>> = {
  json: (value) => {
    const text = utf8(value, 'the value')
    assertJsonDepth(text)
    return parseJson(text)
  },
  string: (value) => utf8(value, 'the value'),
  bytes: (value) => new Uint8Array(bytesOf(value)),
}

/** Makes events of what Redis holds, the same in a list and in a watch. */
export class EventCodec<T> {
  /** Whether keys and values may come as strings. */
  readonly takesText: boolean
  readonly #decode: (value: Buffer | string, key: string) => T
  readonly #keys: RedisKeys

  constructor(codec: RedisCodecName | RedisDecode<T>, keys: RedisKeys) {
    this.takesText = keys === 'string' && (codec === 'json' || codec === 'string')
    this.#decode =
      typeof codec === 'function'
        ? (value, key) => notPromised(codec(bytesOf(value), key), 'the codec')
        : (decoders[codec] as (value: Buffer | string) => T)
    this.#keys = keys
  }

  put(bytes: Buffer | string, value: Buffer | string): Put<T> | Invalid {
    const key = this.key(bytes)
    try {
      if (key.charCodeAt(0) === NO_UTF8 && this.#keys === 'string') assertUtf8(bytesOf(bytes), 'the key')
      return { type: 'put', key, object: this.#decode(value, key) }
    } catch (error) {
      return { type: 'invalid', key, error }
    }
  }

  delete(bytes: Buffer | string): Delete<T> {
    return { type: 'delete', key: this.key(bytes) }
  }

  /** The key in the store. One that is no UTF-8 shows in hexadecimal after half a character. */
  key(bytes: Buffer | string): string {
    if (typeof bytes === 'string') return bytes
    if (this.#keys === 'bytes') return bytes.toString('latin1')
    return isUtf8(bytes) ? bytes.toString() : `${String.fromCharCode(NO_UTF8)}${bytes.toString('hex')}`
  }
}

const encoders: Readonly<Record<RedisCodecName, (object: unknown) => Uint8Array | string | undefined>> = {
  json: (object) => JSON.stringify(object),
  string: (object) => (typeof object === 'string' ? object : undefined),
  bytes: (object) => (object instanceof Uint8Array ? object : undefined),
}

/** Refuses a promise, which is no object; whatever it rejects with is nobody's concern then. */
export function notPromised<V>(value: V, by: string): V {
  if (typeof (Object(value) as { readonly then?: unknown }).then !== 'function') return value
  Promise.resolve(value).catch(() => {})
  throw new TypeError(`${by} gave a promise: it must give what it makes at once`)
}

/** What an object is in Redis, in bytes of our own. A TypeError where it cannot be. */
export function encodeValue<T>(codec: RedisCodecName | RedisEncode<T>, object: T, key: string): Buffer | string {
  const made = encoded(codec, object, key)
  const value = typeof codec === 'function' ? notPromised(made, 'apply: the codec') : made
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (typeof value === 'string' && value.isWellFormed()) return value
  const by = typeof codec === 'function' ? 'the codec' : `"${codec}"`
  throw new TypeError(`${unwritable(key)}: ${by} makes no whole text or bytes of ${describe(object)}`)
}

function encoded<T>(codec: RedisCodecName | RedisEncode<T>, object: T, key: string): Uint8Array | string | undefined {
  try {
    return typeof codec === 'function' ? codec(object, key) : encoders[codec](object)
  } catch (error) {
    const [said] = messageOf(error).split('\n', 1)
    throw new TypeError(`${unwritable(key)}: ${said}`, { cause: error })
  }
}

function unwritable(key: string): string {
  return `apply: the object under ${JSON.stringify(key)} cannot be written`
}

/** What a key is in Redis. A TypeError where it cannot be. */
export function encodeKey(key: string, keys: RedisKeys): Buffer | string {
  if (typeof key !== 'string') throw new TypeError(`apply: a key must be a string, got ${describe(key)}`)
  if (keys === 'bytes') {
    if (/[^\0-\xff]/.test(key)) throw new TypeError(`apply: the key ${JSON.stringify(key)} has more than bytes`)
    return Buffer.from(key, 'latin1')
  }
  if (!key.isWellFormed()) throw new TypeError(`apply: the key ${JSON.stringify(key)} has half a character`)
  return key
}

function describe(value: unknown): string {
  return value === null ? 'null' : typeof value
}

function bytesOf(value: Buffer | string): Buffer {
  return typeof value === 'string' ? Buffer.from(value) : value
}

function utf8(bytes: Buffer | string, what: string): string {
  if (typeof bytes === 'string') return bytes
  assertUtf8(bytes, what)
  return bytes.toString()
}

function assertUtf8(bytes: Buffer, what: string): void {
  if (!isUtf8(bytes))
    throw new TypeError(`${what} is no UTF-8 (${what === 'the key' ? 'keys' : 'codec'}: "bytes" takes any)`)
}

import { messageOf } from '../../../src/contract/errors.js'
import type { Delete, Invalid, Put } from '../../../src/contract/source.js'
import { notPromised, ValueCodec } from '../../common/value-codec.js'
import type { RedisCodecName, RedisDecode, RedisEncode, RedisKeys } from './codec-types.js'

export class EventCodec<T> {
  readonly #codec: ValueCodec<T>

  constructor(codec: RedisCodecName | RedisDecode<T>, keys: RedisKeys) {
    this.#codec = new ValueCodec(codec, keys)
  }

  put(bytes: Buffer, value: Buffer, from?: number): Put<T> | Invalid {
    const key = this.#codec.key(bytes, from)
    try {
      return { type: 'put', key, object: this.#codec.decode(value, key) }
    } catch (error) {
      return { type: 'invalid', key, error }
    }
  }

  delete(bytes: Buffer, from?: number): Delete<T> {
    return { type: 'delete', key: this.#codec.key(bytes, from) }
  }
}

const encoders: Readonly<Record<RedisCodecName, (object: unknown) => Uint8Array | string | undefined>> = {
  json: (object) => JSON.stringify(object),
  string: (object) => (typeof object === 'string' ? object : undefined),
  bytes: (object) => (object instanceof Uint8Array ? object : undefined),
}

/** Encodes an object, into a copy of the bytes. Throws a TypeError if it cannot be encoded. */
export function encodeValue<T>(codec: RedisCodecName | RedisEncode<T>, object: T, key: string): Buffer | string {
  const result = encoded(codec, object, key)
  const value = typeof codec === 'function' ? notPromised(result, 'apply: the codec') : result
  if (value instanceof Uint8Array) return Buffer.from(value)
  if (typeof value === 'string' && value.isWellFormed()) return value
  const by = typeof codec === 'function' ? 'the codec' : `"${codec}"`
  throw new TypeError(`${unwritable(key)}: ${by} must return bytes or a well-formed string for ${describe(object)}`)
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

export function encodeKey(key: string, keys: RedisKeys): Buffer | string {
  if (typeof key !== 'string') throw new TypeError(`apply: a key must be a string, got ${describe(key)}`)
  if (keys === 'bytes') {
    if (/[^\0-\xff]/.test(key)) throw new TypeError(`apply: the key ${JSON.stringify(key)} has characters above 255`)
    return Buffer.from(key, 'latin1')
  }
  if (!key.isWellFormed()) throw new TypeError(`apply: the key ${JSON.stringify(key)} contains an unpaired surrogate`)
  return key
}

function describe(value: unknown): string {
  return value === null ? 'null' : typeof value
}

import { isUtf8 } from 'node:buffer'
import { isOneOf, type OptionCheck } from '../../src/util/validate-options.js'
import { assertJsonDepth, parseJson } from './json-depth.js'
import { hasMethods } from './properties.js'

export type CodecName = 'json' | 'string' | 'bytes'

/** `string`: keys are UTF-8. `bytes`: a key is a string with one character, of 0 to 255, for each byte. */
export type KeyEncoding = 'string' | 'bytes'

type Decode<T> = (value: Uint8Array, key: string) => T

/** A lone surrogate, which UTF-8 cannot encode. It begins the key of an object whose own key is not UTF-8. */
const NOT_UTF8 = 0xd800

type DecodePart<T> = (bytes: Buffer, key: string, from: number, to: number) => T

/** The decoder copies bytes, because the received ones are a part of a whole response. */
const decoders: Readonly<Record<CodecName, DecodePart<unknown>>> = {
  json: (bytes, _key, from, to) => {
    const text = utf8Text(bytes, from, to)
    assertJsonDepth(text)
    return parseJson(text)
  },
  string: (bytes, _key, from, to) => utf8Text(bytes, from, to),
  bytes: (bytes, _key, from, to) => new Uint8Array(partOf(bytes, from, to)),
}

export class ValueCodec<T> {
  readonly #decode: DecodePart<T>
  readonly #keys: KeyEncoding

  constructor(codec: CodecName | Decode<T>, keys: KeyEncoding) {
    this.#decode =
      typeof codec === 'function'
        ? (bytes, key, from, to) => notPromised(codec(partOf(bytes, from, to), key), 'the codec')
        : (decoders[codec] as DecodePart<T>)
    this.#keys = keys
  }

  /** The key in the store. If the bytes are not UTF-8, it is a lone surrogate and these bytes in hexadecimal. */
  key(bytes: Buffer, from = 0, to: number = bytes.length): string {
    if (this.#keys === 'bytes') return bytes.toString('latin1', from, to)
    return utf8In(bytes, from, to) ?? `${String.fromCharCode(NOT_UTF8)}${bytes.toString('hex', from, to)}`
  }

  /** The object of a value. Throws if the value, or the key that `key` returned, cannot be decoded. */
  decode(bytes: Buffer, key: string, from = 0, to: number = bytes.length): T {
    if (key.charCodeAt(0) === NOT_UTF8) throw notUtf8('the key', 'keys')
    return this.#decode(bytes, key, from, to)
  }
}

export const isCodec: OptionCheck = (value) =>
  typeof value === 'function' ? undefined : isOneOf('json', 'string', 'bytes')(value)

/** Throws if `value` is a promise. Its rejection is handled, so that it does not end the process. */
export function notPromised<V>(value: V, by: string): V {
  if (!hasMethods(value, 'then')) return value
  Promise.resolve(value).catch(() => {})
  throw new TypeError(`${by} returned a promise: it must return the object itself`)
}

function partOf(bytes: Buffer, from: number, to: number): Buffer {
  return from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to)
}

function utf8Text(bytes: Buffer, from: number, to: number): string {
  const text = utf8In(bytes, from, to)
  if (text === undefined) throw notUtf8('the value', 'codec')
  return text
}

/** The text of bytes; undefined if they are not UTF-8. Only a text with a replacement character needs a second look. */
function utf8In(bytes: Buffer, from: number, to: number): string | undefined {
  const text = bytes.toString(undefined, from, to)
  return text.includes('\ufffd') && !isUtf8(bytes.subarray(from, to)) ? undefined : text
}

function notUtf8(what: string, option: 'codec' | 'keys'): TypeError {
  return new TypeError(`${what} is not UTF-8 (${option}: "bytes" accepts any bytes)`)
}

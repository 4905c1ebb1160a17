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

/** The decoder copies bytes, because the received ones are a part of a whole response. */
const decoders: Readonly<Record<CodecName, (value: Buffer) => unknown>> = {
  json: (value) => {
    const text = utf8Text(value, 'the value')
    assertJsonDepth(text)
    return parseJson(text)
  },
  string: (value) => utf8Text(value, 'the value'),
  bytes: (value) => new Uint8Array(value),
}

/** Decodes keys and values that are stored as bytes. */
export class ValueCodec<T> {
  readonly #decode: (value: Buffer, key: string) => T
  readonly #keys: KeyEncoding

  constructor(codec: CodecName | Decode<T>, keys: KeyEncoding) {
    this.#decode =
      typeof codec === 'function'
        ? (value, key) => notPromised(codec(value, key), 'the codec')
        : (decoders[codec] as (value: Buffer) => T)
    this.#keys = keys
  }

  /**
   * The key in the store: the bytes that begin at `from`. If they are not UTF-8, it is a lone surrogate and these bytes
   * in hexadecimal.
   */
  key(bytes: Buffer, from = 0): string {
    if (this.#keys === 'bytes') return bytes.toString('latin1', from)
    return utf8In(bytes, from) ?? `${String.fromCharCode(NOT_UTF8)}${bytes.toString('hex', from)}`
  }

  /** The object of a value. Throws if the value, or the key that `key` returned, cannot be decoded. */
  decode(value: Buffer, key: string): T {
    if (key.charCodeAt(0) === NOT_UTF8) throw notUtf8('the key', 'keys')
    return this.#decode(value, key)
  }
}

/** The check of an option `codec`: one of the names, or a function. */
export const isCodec: OptionCheck = (value) =>
  typeof value === 'function' ? undefined : isOneOf('json', 'string', 'bytes')(value)

/** Throws if `value` is a promise. Its rejection is handled, so that it does not end the process. */
export function notPromised<V>(value: V, by: string): V {
  if (!hasMethods(value, 'then')) return value
  Promise.resolve(value).catch(() => {})
  throw new TypeError(`${by} returned a promise: it must return the object itself`)
}

function utf8Text(bytes: Buffer, what: string): string {
  const text = utf8In(bytes)
  if (text === undefined) throw notUtf8(what, 'codec')
  return text
}

/** The text of bytes; undefined if they are not UTF-8. Only a text with a replacement character needs a second look. */
function utf8In(bytes: Buffer, from = 0): string | undefined {
  const text = from === 0 ? bytes.toString() : bytes.toString(undefined, from)
  return text.includes('\ufffd') && !isUtf8(bytes.subarray(from)) ? undefined : text
}

function notUtf8(what: string, option: 'codec' | 'keys'): TypeError {
  return new TypeError(`${what} is not UTF-8 (${option}: "bytes" accepts any bytes)`)
}

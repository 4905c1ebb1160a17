import { SourceError } from '../../src/contract/errors.js'
import type { Invalid, Put } from '../../src/contract/source.js'
import { joinKey } from '../shared/join-key.js'
import { assertJsonDepth } from '../shared/json-depth.js'

/** A mirrored column. */
export interface Column {
  readonly name: string
  /** The type as the server reports it with rows. For a domain this is its base type. */
  readonly typeId: number
  /** The position in the key, from 0; undefined if the column is not part of the key. */
  readonly keyPosition: number | undefined
}

type Parse = (text: string) => unknown

/** json and jsonb. */
const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802])
/** Arrays of json and jsonb. */
const JSON_ARRAY_TYPES: ReadonlySet<number> = new Set([199, 3807])

/**
 * Converts rows of texts to objects, with the same parsers for lists and deltas. A row that cannot be parsed is an
 * `invalid` event and has no effect on other rows.
 */
export class RowCodec<T> {
  readonly #columns: readonly Column[]
  readonly #parsers: readonly Parse[]
  readonly #keyAt: readonly number[]
  readonly #maxObjectBytes: number

  constructor(columns: readonly Column[], parserOf: (typeId: number) => Parse, maxObjectBytes: number) {
    this.#columns = columns
    this.#parsers = columns.map(({ typeId }) => {
      const parse = parserOf(typeId)
      if (JSON_ARRAY_TYPES.has(typeId)) return shallow(parse, unquoted)
      return JSON_TYPES.has(typeId) ? shallow(parse) : parse
    })
    this.#keyAt = columns
      .flatMap(({ keyPosition }, at) => (keyPosition === undefined ? [] : [{ keyPosition, at }]))
      .sort((a, b) => a.keyPosition - b.keyPosition)
      .map(({ at }) => at)
    this.#maxObjectBytes = maxObjectBytes
  }

  /** Converts a row of `COPY … TO STDOUT` in text format, without its line end. */
  fromCopyLine(line: string): Put<T> | Invalid {
    const fields: (string | null)[] = line.split('\t')
    if (line.includes('\\')) {
      for (let i = 0; i < fields.length; i++) fields[i] = unescaped(fields[i] ?? '')
    }
    return this.fromTexts(fields, detached)
  }

  /**
   * Converts the texts of a row, in the order of the columns. `keep`: returns the string to keep of a text that is not
   * parsed.
   */
  fromTexts(texts: readonly (string | null)[], keep = (text: string): string => text): Put<T> | Invalid {
    const key = joinKey(this.#keyAt.map((at) => keep(texts[at] ?? '')))
    try {
      this.#assertSize(texts)
      return { type: 'put', key, object: this.#object(texts, keep) }
    } catch (error) {
      return { type: 'invalid', key, error }
    }
  }

  #assertSize(texts: readonly (string | null)[]): void {
    let length = 0
    for (const text of texts) length += text?.length ?? 0
    // Counting bytes is slower, and a UTF-16 code unit has at most three of them in UTF-8.
    if (length * 3 <= this.#maxObjectBytes) return
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
    if (bytes <= this.#maxObjectBytes) return
    const message = `the row has ${bytes} bytes; maxObjectBytes allows ${this.#maxObjectBytes}`
    throw new SourceError(message, { code: 'DECODE' })
  }

  #object(texts: readonly (string | null)[], keep: (text: string) => string): T {
    const object: Record<string, unknown> = {}
    for (let i = 0; i < this.#columns.length; i++) {
      const text = texts[i]
      const parsed = text === null || text === undefined ? null : this.#parsers[i]?.(text)
      const value = parsed === text && typeof text === 'string' ? keep(text) : parsed
      const name = this.#columns[i]?.name ?? ''
      // An assignment to this name does not create a property.
      if (name === '__proto__')
        Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true })
      else object[name] = value
    }
    return object as T
  }
}

/** V8 copies shorter parts of a string. A longer part is a reference to the whole string, and keeps it in memory. */
const SHORT = 13

/**
 * Returns a copy of a field that does not keep its line in memory: a short text would else retain the row's large
 * columns.
 */
function detached(field: string): string {
  return field.length < SHORT ? field : ` ${field}`.slice(1)
}

function shallow(parse: Parse, read: (text: string) => string = (text) => text): Parse {
  return (text) => {
    assertJsonDepth(read(text))
    return parse(text)
  }
}

/** Removes the quotes around the elements of an array. The depth check ignores everything inside of quotes. */
function unquoted(text: string): string {
  return text.replace(/\\(.)|"/gs, (_whole, char: string | undefined) => char ?? '')
}

/** Unescapes a field as PostgreSQL's documentation of COPY's text format describes. `\N` is NULL. */
function unescaped(field: string): string | null {
  if (field === '\\N') return null
  if (!field.includes('\\')) return field
  return field.replace(/\\(.)/gs, (_whole, char: string) => escapes[char] ?? char)
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

import { SourceError } from '../../../src/contract/errors.js'
import type { Invalid, Put } from '../../../src/contract/source.js'
import { joinKey } from '../../../src/util/join-key.js'
import { assertJsonDepth } from '../../common/json-depth.js'
import { fasterParser, isJsonParse, keepText, type Parse } from './driver-parsers.js'

export interface Column {
  readonly name: string
  /** The type as the server reports it with rows. For a domain this is its base type. */
  readonly typeId: number
  /** The position in the key, from 0; undefined if the column is not part of the key. */
  readonly keyPosition: number | undefined
}

const JSON_TYPES: ReadonlySet<number> = new Set([114, 3802])
const JSON_ARRAY_TYPES: ReadonlySet<number> = new Set([199, 3807])

interface Field {
  readonly name: string
  readonly parse: Parse | undefined
  /** Whether a parsed value may contain parts of its text, which would keep other texts in memory. */
  readonly mayKeepText: boolean
  /** The position in the key; -1 if the column is not part of the key. */
  readonly keyPosition: number
}

/** Lists and deltas have the same parsers. A row that cannot be parsed is an `invalid` event. */
export class RowCodec<T> {
  readonly #fields: readonly Field[]
  readonly #keyAt: readonly number[]
  readonly #maxObjectBytes: number
  readonly #mayBeMalformed: boolean
  /** All objects are copies of this one, so that they have one shape, also if a column is named `__proto__`. */
  readonly #empty: Readonly<Record<string, unknown>>

  /** `mayBeMalformed`: whether texts may have bytes that are not UTF-8. They were replaced by U+FFFD. */
  constructor(
    columns: readonly Column[],
    parserOf: (typeId: number) => Parse,
    maxObjectBytes: number,
    mayBeMalformed = false,
  ) {
    this.#keyAt = columns
      .flatMap(({ keyPosition }, at) => (keyPosition === undefined ? [] : [{ keyPosition, at }]))
      .sort((a, b) => a.keyPosition - b.keyPosition)
      .map(({ at }) => at)
    this.#fields = columns.map(({ name, typeId }, at) =>
      fieldOf(name, typeId, parserOf(typeId), this.#keyAt.indexOf(at)),
    )
    this.#maxObjectBytes = maxObjectBytes
    this.#mayBeMalformed = mayBeMalformed
    // A parsed object has space for exactly its own properties.
    this.#empty = JSON.parse(`{${columns.map(({ name }) => `${JSON.stringify(name)}:null`).join()}}`)
  }

  /** A row of COPY in text format, without its line end. `bytes` and `at` are as in `OnLine`. */
  fromCopyLine(line: string, bytes: Buffer | undefined, at: number): Put<T> | Invalid {
    // An escape is longer than the character that it means.
    if (this.#mayBeMalformed || !this.#isShort(line.length)) return this.fromTexts(fieldsOf(line), detached)
    try {
      return this.#fromShortLine(line, bytes, at)
    } catch (error) {
      return { type: 'invalid', key: this.#keyOf(fieldsOf(line), detached), error }
    }
  }

  /** Reports a row of COPY that is longer than a string can be. Its fields may be cut off, but those of the key. */
  fromLongLine(fields: readonly string[], bytes: number): Invalid {
    return {
      type: 'invalid',
      key: this.#keyOf(fields.map(unescaped), detached),
      error: tooLarge(bytes, 'a string cannot have as many'),
    }
  }

  /** Finds, parses and keeps one field after the other, without an array of them. */
  #fromShortLine(line: string, bytes: Buffer | undefined, at: number): Put<T> {
    const object: Record<string, unknown> = { ...this.#empty }
    // Most keys have one column, and are its text.
    const keyTexts: string[] | undefined = this.#keyAt.length === 1 ? undefined : []
    let key = ''
    let escapeAt = line.indexOf('\\')
    let start = 0
    for (const { name, parse, mayKeepText, keyPosition } of this.#fields) {
      const tab = line.indexOf('\t', start)
      const end = tab < 0 ? line.length : tab
      let text: string | null = line.slice(start, end)
      const isEscaped = escapeAt >= 0 && escapeAt < end
      if (isEscaped) {
        text = unescaped(text)
        escapeAt = line.indexOf('\\', end)
      }
      if ((mayKeepText || keyPosition >= 0) && text !== null && text.length >= SHORT)
        text = isEscaped || bytes === undefined ? detached(text) : bytes.toString('latin1', at + start, at + end)
      object[name] = text === null || parse === undefined ? text : parse(text)
      if (keyPosition >= 0) {
        if (keyTexts === undefined) key = text ?? ''
        else keyTexts[keyPosition] = text ?? ''
      }
      start = end + 1
    }
    return { type: 'put', key: keyTexts === undefined ? key : joinKey(keyTexts), object: object as T }
  }

  /** `texts`: in the order of the columns. `keep`: returns the string to keep of a text that is not parsed. */
  fromTexts(texts: readonly (string | null)[], keep = (text: string): string => text): Put<T> | Invalid {
    const key = this.#keyOf(texts, keep)
    try {
      this.#assertSize(texts)
      if (this.#mayBeMalformed && texts.some((text) => text?.includes('\uFFFD')))
        throw new SourceError('the row is not UTF-8; the encoding of the database is SQL_ASCII', { code: 'DECODE' })
      return { type: 'put', key, object: this.#object(texts, keep) }
    } catch (error) {
      return { type: 'invalid', key, error }
    }
  }

  #keyOf(texts: readonly (string | null)[], keep: (text: string) => string): string {
    return joinKey(this.#keyAt.map((at) => keep(texts[at] ?? '')))
  }

  #isShort(length: number): boolean {
    // Counting bytes is slower, and a UTF-16 code unit has at most three of them in UTF-8.
    return length * 3 <= this.#maxObjectBytes
  }

  #assertSize(texts: readonly (string | null)[]): void {
    let length = 0
    for (const text of texts) length += text?.length ?? 0
    if (this.#isShort(length)) return
    const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
    if (bytes <= this.#maxObjectBytes) return
    throw tooLarge(bytes, `maxObjectBytes allows ${this.#maxObjectBytes}`)
  }

  #object(texts: readonly (string | null)[], keep: (text: string) => string): T {
    const object: Record<string, unknown> = { ...this.#empty }
    for (const [at, { name, parse, mayKeepText }] of this.#fields.entries()) {
      const text = texts[at]
      if (text === null || text === undefined) object[name] = null
      else object[name] = parse === undefined ? keep(text) : parse(mayKeepText ? keep(text) : text)
    }
    return object as T
  }
}

function tooLarge(bytes: number, limit: string): SourceError {
  return new SourceError(`the row has ${bytes} bytes; ${limit}`, { code: 'DECODE' })
}

/** V8 copies shorter parts of a string. A longer part is a reference to the whole string, and keeps it in memory. */
const SHORT = 13

/** A copy that does not keep its line in memory: a short text would else retain the row's large columns. */
function detached(field: string): string {
  return field.length < SHORT ? field : ` ${field}`.slice(1)
}

function fieldOf(name: string, typeId: number, parse: Parse, keyPosition: number): Field {
  if (JSON_TYPES.has(typeId)) return { name, parse: shallow(parse), mayKeepText: !isJsonParse(parse), keyPosition }
  if (JSON_ARRAY_TYPES.has(typeId)) return { name, parse: shallow(parse, unquoted), mayKeepText: true, keyPosition }
  const faster = fasterParser(typeId, parse)
  if (faster === keepText) return { name, parse: undefined, mayKeepText: true, keyPosition }
  return { name, parse: faster, mayKeepText: faster === parse, keyPosition }
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

function fieldsOf(line: string): readonly (string | null)[] {
  return line.split('\t').map(unescaped)
}

/** Unescapes a field as PostgreSQL's documentation of COPY's text format describes. `\N` is NULL. */
function unescaped(field: string): string | null {
  if (field === '\\N') return null
  if (!field.includes('\\')) return field
  return field.replace(/\\(.)/gs, (_whole, char: string) => escapes[char] ?? char)
}

const escapes: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }

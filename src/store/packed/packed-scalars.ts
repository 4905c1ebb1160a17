import type { Scalar } from '../indexes/scalar.js'
import { PackedStrings, StringsWriter } from './packed-strings.js'
import { type SectionReader, type SectionWriter, sectionOf } from './sections.js'

const ABSENT = 0
const TEXT = 1
const NUMBER = 2
const BOOLEAN = 3
const BIGINT = 4
const DATE = 5
/** By the type of a value. */
const KINDS: { readonly [type: string]: number } = {
  string: TEXT,
  number: NUMBER,
  boolean: BOOLEAN,
  bigint: BIGINT,
  object: DATE,
}

/** Packs index values: a kind and a number for each. The number of a string or of a bigint is that of its text. */
export class ScalarsWriter {
  readonly #kinds: Uint8Array<ArrayBuffer>
  readonly #numbers: Float64Array<ArrayBuffer>
  readonly #texts = new StringsWriter()

  constructor(count: number) {
    this.#kinds = new Uint8Array(count)
    this.#numbers = new Float64Array(count)
  }

  set(i: number, value: Scalar | undefined): void {
    this.#kinds[i] = KINDS[typeof value] ?? ABSENT
    this.#numbers[i] =
      typeof value === 'string' || typeof value === 'bigint' ? this.#texts.add(String(value)) : Number(value ?? 0)
  }

  *sections(name: string): SectionWriter {
    yield sectionOf(`${name}.kinds`, this.#kinds)
    yield sectionOf(`${name}.numbers`, this.#numbers)
    yield sectionOf(`${name}.ends`, this.#texts.ends)
    yield { name: `${name}.pool`, ...this.#texts.pool }
  }
}

export class PackedScalars {
  readonly #kinds: Uint8Array
  readonly #numbers: Float64Array
  readonly #texts: PackedStrings

  constructor(sections: SectionReader, name: string) {
    this.#kinds = sections.bytes(`${name}.kinds`)
    this.#numbers = sections.array(Float64Array, `${name}.numbers`)
    this.#texts = new PackedStrings(sections.array(Uint32Array, `${name}.ends`), sections.bytes(`${name}.pool`))
  }

  get count(): number {
    return this.#kinds.length
  }

  at(i: number): Scalar | undefined {
    const number = this.#numbers[i] ?? 0
    switch (this.#kinds[i]) {
      case TEXT:
        return this.#texts.at(number)
      case NUMBER:
        return number
      case BOOLEAN:
        return number === 1
      case BIGINT:
        return BigInt(this.#texts.at(number))
      case DATE:
        return new Date(number)
      default:
        return undefined
    }
  }
}

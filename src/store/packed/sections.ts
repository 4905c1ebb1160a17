import type { PackedSection } from '../../contract/mirror-cache.js'

/** Yields sections, and undefined after a step of the work. */
export type SectionWriter = Generator<PackedSection | undefined, void>

export function sectionOf(
  name: string,
  { buffer, byteOffset, byteLength }: ArrayBufferView<ArrayBuffer>,
): PackedSection {
  return { name, length: byteLength, chunks: [new Uint8Array(buffer, byteOffset, byteLength)] }
}

export function jsonSection(name: string, value: unknown): PackedSection {
  return sectionOf(name, new TextEncoder().encode(JSON.stringify(value)))
}

interface NumbersClass<A> {
  readonly BYTES_PER_ELEMENT: number
  new (buffer: ArrayBufferLike, byteOffset: number, length: number): A
}

/** Reads the sections of a packed snapshot as arrays. It copies nothing, except from addresses that are not aligned. */
export class SectionReader {
  readonly #sections: ReadonlyMap<string, Uint8Array>

  constructor(sections: ReadonlyMap<string, Uint8Array>) {
    this.#sections = sections
  }

  bytes(name: string): Uint8Array {
    const bytes = this.#sections.get(name)
    if (bytes === undefined) throw new RangeError(`the section ${name} is missing`)
    return bytes
  }

  array<A>(Numbers: NumbersClass<A>, name: string): A {
    const width = Numbers.BYTES_PER_ELEMENT
    const bytes = this.bytes(name)
    const { buffer, byteOffset, length } = bytes.byteOffset % width === 0 ? bytes : bytes.slice()
    return new Numbers(buffer, byteOffset, length / width)
  }

  json(name: string): unknown {
    return JSON.parse(textOf(this.bytes(name)))
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

let copied = new Uint8Array(4_096)

/** Decodes UTF-8, also from shared memory, which `TextDecoder` refuses. */
export function textOf(bytes: Uint8Array): string {
  if (bytes.buffer instanceof ArrayBuffer) return decoder.decode(bytes)
  // A new array for each text would take more time than the rest.
  if (copied.length < bytes.length) copied = new Uint8Array(bytes.length * 2)
  copied.set(bytes)
  return decoder.decode(copied.subarray(0, bytes.length))
}

import type { Ordinal } from '../store-index.js'
import { compareScalars, type Scalar } from './scalar.js'

/** A chunk with more elements is split in two. */
const CHUNK = 512

export type Tuple = readonly Scalar[]

/** The elements from the first that is not `isBefore`, up to the first that is not `isWithin`. */
export interface Span {
  /** True for a head of the order, false for the rest. */
  isBefore(value: Tuple): boolean
  /** For values that are not `isBefore`: true for a head of the order, false for the rest. */
  isWithin(value: Tuple): boolean
}

export interface SortedElement {
  readonly value: Tuple
  readonly ordinal: Ordinal
  readonly key: string
}

interface Chunk {
  readonly values: Tuple[]
  readonly ordinals: Ordinal[]
}

interface Position {
  readonly chunk: number
  readonly at: number
}

/** Ordinals in the order of a tuple, then of their keys: a list of sorted chunks, so that one write moves one chunk only. */
export class SortedChunks {
  readonly #keyAt: (ordinal: Ordinal) => string
  readonly #chunks: Chunk[] = []

  /** Sorts `elements` in place. */
  constructor(elements: SortedElement[], keyAt: (ordinal: Ordinal) => string) {
    this.#keyAt = keyAt
    elements.sort((a, b) => compareTuples(a.value, b.value) || compareKeys(a.key, b.key))
    for (let at = 0; at < elements.length; at += CHUNK / 2) {
      const slice = elements.slice(at, at + CHUNK / 2)
      this.#chunks.push({ values: slice.map(({ value }) => value), ordinals: slice.map(({ ordinal }) => ordinal) })
    }
  }

  insert(value: Tuple, ordinal: Ordinal, key: string): void {
    const chunks = this.#chunks
    const { chunk: c, at } = this.#find(value, key)
    const chunk = chunks[c]
    if (chunk === undefined) {
      chunks.push({ values: [value], ordinals: [ordinal] })
      return
    }
    chunk.values.splice(at, 0, value)
    chunk.ordinals.splice(at, 0, ordinal)
    if (chunk.ordinals.length <= CHUNK) return
    const half = chunk.ordinals.length >> 1
    chunks.splice(c + 1, 0, { values: chunk.values.splice(half), ordinals: chunk.ordinals.splice(half) })
  }

  remove(value: Tuple, ordinal: Ordinal): void {
    const chunks = this.#chunks
    const { chunk: c, at } = this.#find(value, this.#keyAt(ordinal))
    const chunk = chunks[c]
    if (chunk?.ordinals[at] !== ordinal) throw new Error('a sorted index lost an element')
    chunk.values.splice(at, 1)
    chunk.ordinals.splice(at, 1)
    if (chunk.ordinals.length === 0) chunks.splice(c, 1)
  }

  *ordinalsIn(span: Span, reverse: boolean): Iterable<Ordinal> {
    const [from, to] = this.#bounds(span)
    const step = reverse ? -1 : 1
    const [first, last] = reverse ? [to, from] : [from, to]
    for (let c = first.chunk; reverse ? c >= last.chunk : c <= last.chunk; c += step) {
      const { ordinals } = this.#chunks[c] ?? { ordinals: [] }
      const start = c === from.chunk ? from.at : 0
      const end = c === to.chunk ? to.at : ordinals.length
      for (let i = reverse ? end - 1 : start; reverse ? i >= start : i < end; i += step) {
        const ordinal = ordinals[i]
        if (ordinal !== undefined) yield ordinal
      }
    }
  }

  countIn(span: Span): number {
    const [from, to] = this.#bounds(span)
    let count = to.at - from.at
    for (let c = from.chunk; c < to.chunk; c++) count += this.#chunks[c]?.ordinals.length ?? 0
    return count
  }

  #bounds(span: Span): readonly [from: Position, to: Position] {
    return [
      this.#partition((value) => span.isBefore(value)),
      this.#partition((value) => span.isBefore(value) || span.isWithin(value)),
    ]
  }

  /** Returns the position of (value, key), also if it is absent. The last chunk takes all greater elements. */
  #find(value: Tuple, key: string): Position {
    const chunks = this.#chunks
    const isLess = (chunk: Chunk | undefined, at: number): boolean => {
      const order = compareTuples(chunk?.values[at] ?? [], value)
      return order < 0 || (order === 0 && compareKeys(this.#keyAt(chunk?.ordinals[at] ?? -1), key) < 0)
    }
    const found = firstWhere(chunks.length, (c) => !isLess(chunks[c], (chunks[c]?.ordinals.length ?? 1) - 1))
    const c = Math.min(found, Math.max(chunks.length - 1, 0))
    const chunk = chunks[c]
    return { chunk: c, at: chunk === undefined ? 0 : firstWhere(chunk.ordinals.length, (at) => !isLess(chunk, at)) }
  }

  /** Returns the first position whose value does not satisfy `holds`, which is true for a head of the order. */
  #partition(holds: (value: Tuple) => boolean): Position {
    const chunks = this.#chunks
    const found = firstWhere(chunks.length, (c) => !holds(chunks[c]?.values.at(-1) ?? []))
    const c = Math.min(found, Math.max(chunks.length - 1, 0))
    const values = chunks[c]?.values ?? []
    return { chunk: c, at: firstWhere(values.length, (at) => !holds(values[at] ?? [])) }
  }
}

export function compareTuples(a: Tuple, b: Tuple): number {
  return (a.length <= b.length ? -compareHead(b, a) : compareHead(a, b)) || a.length - b.length
}

/** Compares only the first components, as many as `head` has. A shorter tuple comes before. */
export function compareHead(value: Tuple, head: Tuple): number {
  for (let i = 0; i < head.length; i++) {
    const each = value[i]
    const order = each === undefined ? -1 : compareScalars(each, head[i] as Scalar)
    if (order !== 0) return order
  }
  return 0
}

export function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Returns the least i in [0, length) for which `holds`, or `length`. `holds` is false for a head of the range only. */
function firstWhere(length: number, holds: (i: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}

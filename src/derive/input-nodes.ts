import type { DeclaredIndex } from '../store/indexes/index-builder.js'
import {
  compareElements,
  compareHead,
  type Keyed,
  type Span,
  type Tuple,
} from '../store/indexes/order/sorted-tuples.js'
import { copyScalar, isScalars, type Scalar, sameScalar } from '../store/indexes/scalar.js'
import { SortedIndex, type SortedRange, spanOf } from '../store/indexes/sorted-index.js'
import type { StoreIndex } from '../store/indexes/store-index.js'
import { OrdinalTable } from '../store/ordinal-table.js'
import type { EdgeTable, NodeOwner } from './edge-table.js'
import { sameValue, ValueMap } from './value-map.js'

/** What a change of an object concerns: its values in an index before it, and after it. */
export interface Moved {
  readonly key: string
  readonly before: unknown
  readonly now: unknown
}

/** The keys that rows have read whose objects have no ordinal of their own: there is none, or it is packed. */
export class KeyNodes implements NodeOwner {
  readonly #edges: EdgeTable
  readonly #nodes: OrdinalTable

  constructor(edges: EdgeTable) {
    this.#edges = edges
    this.#nodes = new OrdinalTable((node, key) => edges.idOf(node) === key)
  }

  find(key: string): number | undefined {
    return this.#nodes.size === 0 ? undefined : this.#nodes.get(key)
  }

  of(key: string): number {
    const found = this.#nodes.get(key)
    if (found !== undefined) return found
    const node = this.#edges.add(this, key)
    this.#nodes.add(key, node)
    return node
  }

  forget(key: string, node: number): void {
    this.#nodes.delete(key, node)
  }
}

/** The values that rows have read: their objects, or only their number. */
export class ValueNodes implements NodeOwner {
  readonly #edges: EdgeTable
  readonly #nodes = new ValueMap<number>()

  constructor(edges: EdgeTable) {
    this.#edges = edges
  }

  find(value: Scalar | Tuple): number | undefined {
    return this.#nodes.get(value)
  }

  of(value: Scalar | Tuple): number {
    const found = this.#nodes.get(value)
    if (found !== undefined) return found
    const own = isScalars(value) ? value.map(copyScalar) : copyScalar(value)
    const node = this.#edges.add(this, own)
    this.#nodes.set(own, node)
    return node
  }

  forget(value: Scalar | Tuple): void {
    this.#nodes.delete(value)
  }
}

/** The nodes of an equal or a multi-value index. */
export class HashNodes<T> {
  readonly declared: DeclaredIndex<T>
  readonly objects: ValueNodes
  readonly counts: ValueNodes

  constructor(declared: DeclaredIndex<T>, edges: EdgeTable) {
    this.declared = declared
    this.objects = new ValueNodes(edges)
    this.counts = new ValueNodes(edges)
  }

  changed({ before, now }: Moved, touch: (node: number) => void): void {
    const was = this.declared.scalarsOf(before) ?? []
    const is = this.declared.scalarsOf(now) ?? []
    for (const value of was) {
      touchOne(this.objects.find(value), touch)
      if (!is.some((each) => sameScalar(each, value))) touchOne(this.counts.find(value), touch)
    }
    for (const value of is) {
      if (was.some((each) => sameScalar(each, value))) continue
      touchOne(this.objects.find(value), touch)
      touchOne(this.counts.find(value), touch)
    }
  }
}

interface RangeNode {
  readonly node: number
  readonly span: Span
  readonly sign: 1 | -1
  /** The last element that a limited read has returned; undefined if it returned less than its limit. */
  last: Keyed | undefined
}

/** The nodes of an ordered or a compound index: of heads of its tuples, and of ranges after a head. */
export class SortedNodes<T> {
  readonly declared: DeclaredIndex<T>
  readonly objects: ValueNodes
  readonly counts: ValueNodes
  readonly #index: SortedIndex<T>
  readonly #edges: EdgeTable
  readonly #ranges = new ValueMap<Map<string, RangeNode>>()

  constructor(declared: DeclaredIndex<T>, index: SortedIndex<T>, edges: EdgeTable) {
    this.declared = declared
    this.#index = index
    this.#edges = edges
    this.objects = new ValueNodes(edges)
    this.counts = new ValueNodes(edges)
  }

  range(head: Tuple, range: SortedRange, length: number): number {
    const { gt, gte, lt, lte, prefix, reverse = false, limit = Infinity } = range
    const bounds = [gt, gte, lt, lte, prefix]
    if (limit === Infinity && bounds.every((each) => each === undefined)) return this.objects.of(head)
    const ranges = this.#ranges.get(head) ?? new Map<string, RangeNode>()
    if (ranges.size === 0) this.#ranges.set(head, ranges)
    const id = JSON.stringify([reverse, limit, ...bounds.map(boundText)])
    let found = ranges.get(id)
    if (found === undefined) {
      const ownHead = head.map(copyScalar)
      const owner = { forget: () => this.#forget(ownHead, ranges, id) }
      const own = Object.fromEntries(Object.entries({ gt, gte, lt, lte, prefix }).map(copied))
      found = { node: this.#edges.add(owner, id), span: spanOf(ownHead, own), sign: reverse ? -1 : 1, last: undefined }
      ranges.set(id, found)
    }
    found.last = length < limit ? undefined : this.#index.lastIn(head, range)
    return found.node
  }

  #forget(head: Tuple, ranges: Map<string, RangeNode>, id: string): void {
    ranges.delete(id)
    if (ranges.size === 0) this.#ranges.delete(head)
  }

  changed({ key, before, now }: Moved, touch: (node: number) => void): void {
    const was = isScalars(before) ? before : undefined
    const is = isScalars(now) ? now : undefined
    const isSame = was !== undefined && is !== undefined && sameValue(was, is)
    this.#changed(was, isSame ? was : is, key, touch)
    if (!isSame) this.#changed(is, was, key, touch)
  }

  /** The object with `key` has, or had, the place `tuple`. `other` is its place on the other side of the change. */
  #changed(tuple: Tuple | undefined, other: Tuple | undefined, key: string, touch: (node: number) => void): void {
    if (tuple === undefined) return
    for (let length = 0; length <= tuple.length; length++) {
      const head = tuple.slice(0, length)
      touchOne(this.objects.find(head), touch)
      const isOnBothSides = other !== undefined && other.length >= length && compareHead(other, head) === 0
      if (!isOnBothSides) touchOne(this.counts.find(head), touch)
      for (const { node, span, sign, last } of this.#ranges.get(head)?.values() ?? []) {
        if (span.isBefore(tuple) || !span.isWithin(tuple)) continue
        if (last === undefined || sign * compareElements({ tuple, key }, last) <= 0) touch(node)
      }
    }
  }
}

export function nodesOf<T>(declared: DeclaredIndex<T>, edges: EdgeTable): HashNodes<T> | SortedNodes<T> {
  const index: StoreIndex<T> = declared.index
  return index instanceof SortedIndex ? new SortedNodes<T>(declared, index, edges) : new HashNodes<T>(declared, edges)
}

function touchOne(node: number | undefined, touch: (node: number) => void): void {
  if (node !== undefined) touch(node)
}

function boundText(bound: Scalar | undefined): unknown {
  if (bound === undefined) return null
  return bound instanceof Date ? ['date', bound.getTime()] : [typeof bound, String(bound)]
}

function copied([name, bound]: readonly [string, Scalar | undefined]): readonly [string, Scalar | undefined] {
  return [name, bound === undefined ? undefined : copyScalar(bound)]
}

import type { Entry } from '../contract/source.js'
import type { Compound, Equal, IndexRange, Ordered } from '../store/indexes/index-types.js'
import type { Tuple } from '../store/indexes/order/sorted-tuples.js'
import { isScalar, isScalars, type Scalar } from '../store/indexes/scalar.js'
import type { SortedRange } from '../store/indexes/sorted-index.js'
import type { StoreIndex } from '../store/indexes/store-index.js'
import type { Ordinal } from '../store/ordinals.js'
import type { TrackedReads } from '../store/pin.js'
import type { Store } from '../store/store.js'
import type { StoreWriter } from '../store/write/store-writer.js'
import type { EdgeTable } from './edge-table.js'
import { type HashNodes, KeyNodes, nodesOf, SortedNodes } from './input-nodes.js'

/** A function that reads more keys and values than this in one call fails. */
const MAX_READS = 100_000

/**
 * Returns the reads of an informer for a function of a view, which may call only those in `allowed`. Each other read
 * calls `refuse` with its public name.
 */
export function refusedReads<T>(
  refuse: (call: string) => never,
  allowed: Partial<Pick<TrackedReads<T>, 'entryOf' | 'accessorOf'>> = {},
): TrackedReads<T> {
  const { entryOf = () => refuse('get'), accessorOf = () => refuse('by') } = allowed
  return {
    entryOf,
    accessorOf,
    ordinalOf: () => refuse('entry'),
    entryAt: () => refuse('entry'),
    keys: () => refuse('keys'),
    entries: () => refuse('entries'),
    list: () => refuse('list'),
    pin: () => refuse('snapshot'),
    get size() {
      return refuse('size')
    },
    get ordinalStart() {
      return refuse('subscribe')
    },
    get ordinalLimit() {
      return refuse('subscribe')
    },
  }
}

/** What a function of a view sees of an input: the current state of the store. Each read is an edge of the row. */
export class RecordedReads<T> {
  readonly shown: TrackedReads<T>
  readonly #refuse: (call: string) => never
  #keyNodes: KeyNodes
  readonly indexNodes: Map<StoreIndex<T>, HashNodes<T> | SortedNodes<T>> = new Map()
  readonly #writer: StoreWriter<T>
  readonly #store: Store<T>
  readonly #edges: EdgeTable
  readonly #number: number
  readonly #accessors = new Map<object, unknown>()
  readonly #untrack: (() => void)[] = []

  constructor(writer: StoreWriter<T>, edges: EdgeTable, number: number, refuse: (call: string) => never) {
    this.#refuse = refuse
    this.shown = refusedReads(refuse, {
      entryOf: (key) => this.#entryOf(key),
      accessorOf: (index) => this.#accessorOf(index),
    })
    this.#number = number
    this.#writer = writer
    this.#store = writer.store
    this.#edges = edges
    this.#keyNodes = new KeyNodes(edges)
  }

  #entryOf(key: string): Entry<T> | undefined {
    const store = this.#store
    // Most calls read what the last one has read, and a comparison is faster than a search.
    const expected = this.#edges.expected(this.#number)
    const isSame = expected !== undefined && store.entryAt(expected)?.key === key
    const ordinal = isSame ? expected : store.ordinalOf(key)
    if (ordinal === undefined || ordinal < 0) this.#read(this.#keyNodes.of(key))
    else this.#read(this.#edges.nodeAt(ordinal, this.#number))
    return ordinal === undefined ? undefined : store.entryAt(ordinal)
  }

  changed(key: string, ordinal: Ordinal, touch: (node: number) => void): void {
    if (ordinal >= 0) touch(this.#edges.nodeAt(ordinal, this.#number))
    const node = this.#keyNodes.find(key)
    if (node !== undefined) touch(node)
  }

  #accessorOf(index: object): unknown {
    const known = this.#accessors.get(index)
    if (known !== undefined) return known
    for (const declared of this.#writer.indexes.values()) {
      if (declared.index !== index) continue
      this.#untrack.push(this.#writer.track(declared))
      const nodes = nodesOf(declared, this.#edges)
      this.indexNodes.set(declared.index, nodes)
      const accessor =
        nodes instanceof SortedNodes
          ? this.#sorted(nodes, declared.accessor as Ordered<T, Scalar> | Compound<T, Tuple>)
          : this.#hash(nodes, declared.accessor as Equal<T, Scalar>)
      this.#accessors.set(index, accessor)
      return accessor
    }
    return this.#refuse('by')
  }

  unrecorded<V>(read: () => V): V {
    this.#store.show(undefined)
    try {
      return read()
    } finally {
      this.#store.show(this.shown)
    }
  }

  /** Commits of the input do not have the values of its indexes for this view until it reads them again. */
  clear(): void {
    for (const untrack of this.#untrack.splice(0)) untrack()
    this.#keyNodes = new KeyNodes(this.#edges)
    this.indexNodes.clear()
    this.#accessors.clear()
  }

  #read(node: number): void {
    if (this.#edges.read(node) > MAX_READS)
      throw new RangeError(`it reads more than ${MAX_READS} keys and values in one call`)
  }

  #hash({ objects, counts }: HashNodes<T>, index: Equal<T, Scalar>): Equal<T, Scalar> {
    const recorded = <V>(nodes: typeof objects, value: Scalar, read: () => V): V => {
      // No object has another value.
      if (isScalar(value)) this.#read(nodes.of(value))
      return this.unrecorded(read)
    }
    return Object.assign((value: Scalar) => recorded(objects, value, () => index(value)), {
      entries: (value: Scalar) => recorded(objects, value, () => index.entries(value)),
      count: (value: Scalar) => recorded(counts, value, () => index.count(value)),
      values: () => this.#refuse('values'),
    })
  }

  #sorted(nodes: SortedNodes<T>, index: Ordered<T, Scalar> | Compound<T, Tuple>): unknown {
    const { objects, counts } = nodes
    const ofRange = <V extends readonly unknown[]>(head: Tuple, range: SortedRange, read: () => V): V =>
      this.unrecorded(() => {
        try {
          const found = read()
          this.#read(nodes.range(head, range, found.length))
          return found
        } catch (error) {
          this.#read(objects.of(head)) // With other values the bounds may be valid.
          throw error
        }
      })
    const ofHead = <V>(all: typeof objects, head: unknown, read: () => V): V => {
      if (isScalars(head)) this.#read(all.of(head))
      return this.unrecorded(read)
    }
    const values = (): never => this.#refuse('values')
    if ('entriesIn' in index) {
      return Object.assign((range: SortedRange = {}) => ofRange([], range, () => index(range as IndexRange<Scalar>)), {
        entriesIn: (range: SortedRange = {}) => ofRange([], range, () => [...index.entriesIn(range)]).values(),
        entries: (value: Scalar) => ofHead(objects, [value], () => index.entries(value)),
        count: (value: Scalar) => ofHead(counts, [value], () => index.count(value)),
        values,
      })
    }
    return Object.assign((head: Tuple, range: SortedRange) => ofRange(head, range, () => index(head, range)), {
      entries: (head: Tuple) => ofHead(objects, head, () => index.entries(head)),
      count: (head: Tuple) => ofHead(counts, head, () => index.count(head)),
      values,
    })
  }
}

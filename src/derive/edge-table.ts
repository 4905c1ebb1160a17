import { Int32List } from '../store/indexes/int32-list.js'
import type { Ordinal } from '../store/ordinals.js'

export interface NodeOwner {
  /** Called when no row reads the node any more. */
  forget(id: unknown, node: number): void
}

/**
 * Which rows have read which nodes. A row is one call of the function of a view. A node is what a call can read: a key, a
 * value of an index, a range. Each edge is in the list of its row, in the order of the reads, and in that of its node. The
 * objects of an input are nodes by their ordinals, so that they need no table. All other nodes have an owner. The last bits
 * of the number of a node are that of its input, from 1 on, or 0.
 */
export class EdgeTable {
  readonly #inputBits: number
  readonly #inputMask: number
  readonly #nodesOf: readonly NodeLists[]
  /** By edge. No edge has the number 0. */
  readonly #rows = new Int32List()
  readonly #nodes = new Int32List()
  readonly #nextOfRow = new Int32List()
  readonly #nextOfNode = new Int32List()
  readonly #previousOfNode = new Int32List()
  readonly #firstOfRow = new Int32List()
  #lastEdge = 0
  /** The first of the free edges, which are a list by `#nextOfRow`. */
  #freeEdge = 0
  /** By node without an input, from 1 on. */
  readonly #owners: (NodeOwner | undefined)[] = [undefined]
  readonly #ids: unknown[] = [undefined]
  readonly #freeNodes: number[] = []
  /** The nodes that have lost their last edge during the current call. */
  readonly #emptied: number[] = []
  #row = 0
  /** The edge of the row that the next read may use again, and the one before it. */
  #at = 0
  #before = 0
  #call = 0
  #reads = 0
  #firstRead = 0
  size = 0
  /** Whether the last call has read other nodes, or in another order, than the call of its row before it. */
  hasChanged = false

  constructor(inputs: number) {
    this.#inputBits = 32 - Math.clz32(inputs)
    this.#inputMask = (1 << this.#inputBits) - 1
    this.#nodesOf = Array.from({ length: inputs + 1 }, () => new NodeLists())
  }

  add(owner: NodeOwner, id: unknown): number {
    const at = this.#freeNodes.pop() ?? this.#owners.length
    this.#owners[at] = owner
    this.#ids[at] = id
    // It is forgotten at the end of the call, unless the call reads it.
    this.#emptied.push(at)
    return at << this.#inputBits
  }

  nodeAt(ordinal: Ordinal, input: number): number {
    return (ordinal << this.#inputBits) | input
  }

  idOf(node: number): unknown {
    return this.#ids[node >>> this.#inputBits]
  }

  /** A call of this row begins. Its edges are those of the last one until it reads something else. */
  begin(row: number): void {
    this.#row = row
    this.#at = this.#firstOfRow.get(row)
    this.#before = 0
    this.#call++
    this.#reads = 0
    this.hasChanged = false
  }

  /** Returns the ordinal of the object of this input that the last call of the row read at this place, if it did. */
  expected(input: number): Ordinal | undefined {
    const node = this.#nodes.get(this.#at)
    return node !== 0 && (node & this.#inputMask) === input ? node >>> this.#inputBits : undefined
  }

  /** The call reads a node. Returns how many nodes it has read. */
  read(node: number): number {
    // Most calls read one node. That is marked when there is a second one.
    if (this.#reads === 0) this.#firstRead = node
    else {
      if (this.#reads === 1) this.#mark(this.#firstRead)
      if (!this.#mark(node)) return this.#reads
    }
    if (this.#at !== 0 && this.#nodes.get(this.#at) !== node) this.#cut()
    if (this.#at === 0) this.#append(node)
    else {
      this.#before = this.#at
      this.#at = this.#nextOfRow.get(this.#at)
    }
    return ++this.#reads
  }

  /** Returns false if the call has read the node before. */
  #mark(node: number): boolean {
    const { readIn } = this.#listsOf(node)
    const at = node >>> this.#inputBits
    if (readIn.get(at) === this.#call) return false
    readIn.set(at, this.#call)
    return true
  }

  end(): void {
    if (this.#at !== 0) this.#cut()
    for (let at = this.#emptied.pop(); at !== undefined; at = this.#emptied.pop()) {
      const node = at << this.#inputBits
      const owner = this.#owners[at]
      if (owner === undefined || this.firstOf(node) !== 0) continue
      owner.forget(this.#ids[at], node)
      this.#owners[at] = undefined
      this.#ids[at] = undefined
      this.#freeNodes.push(at)
    }
  }

  clear(): void {
    const ofEdges = [this.#rows, this.#nodes, this.#nextOfRow, this.#nextOfNode, this.#previousOfNode]
    const ofNodes = this.#nodesOf.flatMap(({ first, readIn }) => [first, readIn])
    for (const list of [...ofEdges, ...ofNodes, this.#firstOfRow]) list.clear()
    this.#lastEdge = 0
    this.#freeEdge = 0
    this.size = 0
    this.#owners.length = 1
    this.#ids.length = 1
    this.#freeNodes.length = 0
    this.#emptied.length = 0
  }

  /** Returns the first edge of a node, 0 if it has none. */
  firstOf(node: number): number {
    return this.#listsOf(node).first.get(node >>> this.#inputBits)
  }

  nextOf(edge: number): number {
    return this.#nextOfNode.get(edge)
  }

  rowOf(edge: number): number {
    return this.#rows.get(edge)
  }

  #listsOf(node: number): NodeLists {
    return this.#nodesOf[node & this.#inputMask] as NodeLists
  }

  #append(node: number): void {
    this.hasChanged = true
    this.size++
    const edge = this.#freeEdge === 0 ? ++this.#lastEdge : this.#freeEdge
    if (edge === this.#freeEdge) this.#freeEdge = this.#nextOfRow.get(edge)
    this.#rows.set(edge, this.#row)
    this.#nodes.set(edge, node)
    this.#nextOfRow.set(edge, 0)
    if (this.#before === 0) this.#firstOfRow.set(this.#row, edge)
    else this.#nextOfRow.set(this.#before, edge)
    const next = this.firstOf(node)
    this.#nextOfNode.set(edge, next)
    this.#previousOfNode.set(edge, 0)
    if (next !== 0) this.#previousOfNode.set(next, edge)
    this.#listsOf(node).first.set(node >>> this.#inputBits, edge)
    this.#before = edge
  }

  /** Removes the edges from `#at` on. */
  #cut(): void {
    this.hasChanged = true
    if (this.#before === 0) this.#firstOfRow.set(this.#row, 0)
    else this.#nextOfRow.set(this.#before, 0)
    for (let edge = this.#at; edge !== 0; ) {
      const after = this.#nextOfRow.get(edge)
      this.#unlink(edge)
      this.size--
      this.#nextOfRow.set(edge, this.#freeEdge)
      this.#freeEdge = edge
      edge = after
    }
    this.#at = 0
  }

  /** Removes an edge from the list of its node. */
  #unlink(edge: number): void {
    const [next, previous] = [this.#nextOfNode.get(edge), this.#previousOfNode.get(edge)]
    if (next !== 0) this.#previousOfNode.set(next, previous)
    if (previous !== 0) {
      this.#nextOfNode.set(previous, next)
      return
    }
    const node = this.#nodes.get(edge)
    this.#listsOf(node).first.set(node >>> this.#inputBits, next)
    if (next === 0 && (node & this.#inputMask) === 0) this.#emptied.push(node >>> this.#inputBits)
  }
}

class NodeLists {
  readonly first = new Int32List()
  /** By node: the last call that read it and another one. */
  readonly readIn = new Int32List()
}

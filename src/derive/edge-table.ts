import { Int32List } from '../store/indexes/int32-list.js'

/** Finds nodes by what they stand for. */
export interface NodeOwner {
  /** Called when no row reads the node any more. */
  forget(id: unknown, node: number): void
}

/**
 * Which rows have read which nodes. A row is one call of the function of a view. A node is what a call can read: a key, a
 * value of an index, a range. Each edge is in the list of its row, in the order of the reads, and in that of its node.
 */
export class EdgeTable {
  /** By edge. No edge has the number 0. */
  readonly #rows = new Int32List()
  readonly #nodes = new Int32List()
  readonly #nextOfRow = new Int32List()
  readonly #nextOfNode = new Int32List()
  readonly #previousOfNode = new Int32List()
  readonly #firstOfRow = new Int32List()
  readonly #firstOfNode = new Int32List()
  /** By node: the last call that read it. */
  readonly #readIn = new Int32List()
  #lastEdge = 0
  /** The first of the free edges, which are a list by `#nextOfRow`. */
  #freeEdge = 0
  /** By node. No node has the number 0. */
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
  #edges = 0
  #hasChanged = false

  /** Returns a new node. */
  add(owner: NodeOwner, id: unknown): number {
    const node = this.#freeNodes.pop() ?? this.#owners.length
    this.#owners[node] = owner
    this.#ids[node] = id
    // It is forgotten at the end of the call, unless the call reads it.
    this.#emptied.push(node)
    return node
  }

  /** The number of edges. */
  get size(): number {
    return this.#edges
  }

  /** Whether the last call has read other nodes, or in another order, than the call of its row before it. */
  get hasChanged(): boolean {
    return this.#hasChanged
  }

  idOf(node: number): unknown {
    return this.#ids[node]
  }

  /** A call of this row begins. Its edges are those of the last one until it reads something else. */
  begin(row: number): void {
    this.#row = row
    this.#at = this.#firstOfRow.get(row)
    this.#before = 0
    this.#call++
    this.#reads = 0
    this.#hasChanged = false
  }

  /** Returns the node that the last call of the row read at this place, if it stands for this; undefined otherwise. */
  expected(owner: NodeOwner, id: unknown): number | undefined {
    const node = this.#at === 0 ? 0 : this.#nodes.get(this.#at)
    return node !== 0 && this.#owners[node] === owner && this.#ids[node] === id ? node : undefined
  }

  /** The call reads a node. Returns how many nodes it has read. */
  read(node: number): number {
    if (this.#readIn.get(node) === this.#call) return this.#reads
    this.#readIn.set(node, this.#call)
    if (this.#at !== 0 && this.#nodes.get(this.#at) !== node) this.#cut()
    if (this.#at === 0) this.#append(node)
    else {
      this.#before = this.#at
      this.#at = this.#nextOfRow.get(this.#at)
    }
    return ++this.#reads
  }

  /** The call has ended. */
  end(): void {
    if (this.#at !== 0) this.#cut()
    for (let node = this.#emptied.pop(); node !== undefined; node = this.#emptied.pop()) {
      const owner = this.#owners[node]
      if (owner === undefined || this.#firstOfNode.get(node) !== 0) continue
      owner.forget(this.#ids[node], node)
      this.#owners[node] = undefined
      this.#ids[node] = undefined
      this.#freeNodes.push(node)
    }
  }

  clear(): void {
    const ofEdges = [this.#rows, this.#nodes, this.#nextOfRow, this.#nextOfNode, this.#previousOfNode]
    for (const list of [...ofEdges, this.#firstOfRow, this.#firstOfNode, this.#readIn]) list.clear()
    this.#lastEdge = 0
    this.#freeEdge = 0
    this.#edges = 0
    this.#owners.length = 1
    this.#ids.length = 1
    this.#freeNodes.length = 0
    this.#emptied.length = 0
  }

  /** Returns the first edge of a node, 0 if it has none. */
  firstOf(node: number): number {
    return this.#firstOfNode.get(node)
  }

  nextOf(edge: number): number {
    return this.#nextOfNode.get(edge)
  }

  rowOf(edge: number): number {
    return this.#rows.get(edge)
  }

  #append(node: number): void {
    this.#hasChanged = true
    this.#edges++
    const edge = this.#freeEdge === 0 ? ++this.#lastEdge : this.#freeEdge
    if (edge === this.#freeEdge) this.#freeEdge = this.#nextOfRow.get(edge)
    this.#rows.set(edge, this.#row)
    this.#nodes.set(edge, node)
    this.#nextOfRow.set(edge, 0)
    if (this.#before === 0) this.#firstOfRow.set(this.#row, edge)
    else this.#nextOfRow.set(this.#before, edge)
    const next = this.#firstOfNode.get(node)
    this.#nextOfNode.set(edge, next)
    this.#previousOfNode.set(edge, 0)
    if (next !== 0) this.#previousOfNode.set(next, edge)
    this.#firstOfNode.set(node, edge)
    this.#before = edge
  }

  /** Removes the edges from `#at` on. */
  #cut(): void {
    this.#hasChanged = true
    if (this.#before === 0) this.#firstOfRow.set(this.#row, 0)
    else this.#nextOfRow.set(this.#before, 0)
    for (let edge = this.#at; edge !== 0; ) {
      const after = this.#nextOfRow.get(edge)
      this.#unlink(edge)
      this.#edges--
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
    this.#firstOfNode.set(node, next)
    if (next === 0) this.#emptied.push(node)
  }
}

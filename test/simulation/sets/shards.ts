import { type Commit, History, type Mutation, type State } from '../backend/history.js'

/**
 * One backend that is read in shards: each has its own keys, and every transaction advances the version of all of them.
 */
export class Backend {
  /** The shards, each with the function that wakes its watches. */
  readonly #shards = new Map<Shard, () => void>()

  shard(initial: State, woken: () => void): History {
    const shard = new Shard(initial, (follow) => {
      for (const [other, wake] of this.#shards) {
        if (other === shard) continue
        follow(other)
        wake()
      }
    })
    this.#shards.set(shard, woken)
    return shard
  }
}

class Shard extends History {
  readonly #others: (follow: (other: Shard) => void) => void

  constructor(initial: State, others: (follow: (other: Shard) => void) => void) {
    super(initial)
    this.#others = others
  }

  override commit(mutations: readonly Mutation[], id: number): Commit {
    this.#others((other) => other.#followCommit(id))
    return super.commit(mutations, id)
  }

  override restore(from: Commit): Commit {
    this.#others((other) => other.#followRestore(from.sequence))
    return super.restore(from)
  }

  #followCommit(id: number): void {
    super.commit([], id)
  }

  #followRestore(sequence: number): void {
    super.restore(this.inEpoch(sequence) ?? this.first)
  }
}

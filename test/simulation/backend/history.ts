import { SourceError, type Version } from '../../../src/index.js'

export interface Item {
  /** One number for each written content: a greater number is later. */
  readonly n: number
  readonly tenant: string
  readonly tags: readonly string[]
  readonly rank: number
  /** The same number in a form that only a comparison of contents distinguishes. */
  readonly body?: unknown
  /** Set by the schema, which returns another object than the source. */
  readonly isChecked?: true
}

export interface Stored {
  readonly key: string
  readonly item: Item
  readonly uid: string
  /** The revision of the object; starts again with each epoch, as in a restored backend. */
  readonly revision: string | undefined
  readonly isInvalid: boolean
}

/** The change of one key in one transaction. */
export interface Mutation {
  readonly key: string
  readonly stored: Stored | undefined
  /** The object before the transaction. */
  readonly was: Stored | undefined
}

export type State = ReadonlyMap<string, Stored>

/** A state of the backend. The first commit of an epoch has no mutations. */
export interface Commit {
  readonly epoch: number
  readonly sequence: number
  readonly version: Version
  readonly state: State
  readonly mutations: readonly Mutation[]
  /** A number that is independent of the other commits. */
  readonly id: number
  deliveries: number
}

/** All states of a backend: the truth that the checkers compare with. */
export class History {
  readonly #commits: Commit[] = []
  readonly #indexes = new Map<Version, number>()
  readonly #uids = new Map<number, string>()
  readonly #writes = new Map<number, number>()
  /** The index of the first commit of the current epoch. */
  #base = 0
  compacted = 0

  constructor(initial: State) {
    for (const { item, uid } of initial.values()) this.#uids.set(item.n, uid)
    this.#add({ epoch: 1, sequence: 0, version: '1.0', state: initial, mutations: [], id: 0, deliveries: 0 })
  }

  get head(): Commit {
    return this.#commits[this.#commits.length - 1] as Commit
  }

  before(commits: number): Commit {
    return this.#commits[Math.max(0, this.#commits.length - 1 - commits)] as Commit
  }

  commit(mutations: readonly Mutation[], id: number): Commit {
    const { epoch, sequence, state } = this.head
    const next = new Map(state)
    for (const { key, stored } of mutations) {
      if (stored === undefined) next.delete(key)
      else {
        next.set(key, stored)
        this.#uids.set(stored.item.n, stored.uid)
        this.#writes.set(stored.item.n, (this.#writes.get(stored.item.n) ?? 0) + 1)
      }
    }
    const version = `${epoch}.${sequence + 1}`
    return this.#add({ epoch, sequence: sequence + 1, version, state: next, mutations, id, deliveries: 0 })
  }

  /** A new epoch, which begins with the state of an earlier commit. */
  restore(from: Commit): Commit {
    const { epoch } = this.head
    const { sequence, state } = from
    this.compacted = sequence
    this.#base = this.#commits.length
    const version = `${epoch + 1}.${sequence}`
    return this.#add({ epoch: epoch + 1, sequence, version, state, mutations: [], id: 0, deliveries: 0 })
  }

  inEpoch(sequence: number): Commit | undefined {
    const first = this.#commits[this.#base] as Commit
    return sequence < first.sequence ? undefined : this.#commits[this.#base + sequence - first.sequence]
  }

  get first(): Commit {
    return this.#commits[this.#base] as Commit
  }

  has(version: Version): boolean {
    return this.#indexes.has(version)
  }

  at(version: Version): Commit {
    return this.#commits[this.indexOf(version)] as Commit
  }

  uidOf(n: number): string | undefined {
    return this.#uids.get(n)
  }

  isWrittenOnce(n: number): boolean {
    return (this.#writes.get(n) ?? 1) === 1
  }

  /** The last state of a key; undefined if it never existed. */
  lastOf(key: string): Stored | undefined {
    return this.#commits.findLast(({ state }) => state.has(key))?.state.get(key)
  }

  indexOf(version: Version): number {
    const index = this.#indexes.get(version)
    if (index === undefined) throw new SourceError(`"${version}" is not a version of this source`, { code: 'PROTOCOL' })
    return index
  }

  findIndex(from: number, isSo: (commit: Commit) => boolean): number | undefined {
    for (let index = from; index < this.#commits.length; index++) if (isSo(this.#commits[index] as Commit)) return index
    return undefined
  }

  hasReached(at: Version, mark: Version): boolean {
    const [here, there] = [this.at(at), this.at(mark)]
    if (here.epoch !== there.epoch) throw new SourceError('the version is of another epoch', { code: 'EPOCH_CHANGED' })
    return here.sequence >= there.sequence
  }

  /** Whether the key was in a matching state (`undefined`: absent) at `version` or after it. */
  isAtOrAfter(key: string, isSuch: (stored: Stored | undefined) => boolean, version: Version): boolean {
    for (let index = this.indexOf(version); index < this.#commits.length; index++) {
      const { state, mutations } = this.#commits[index] as Commit
      if (isSuch(state.get(key))) return true
      // Inside a transaction it may have been in another state too.
      if (mutations.some((each) => each.key === key && isSuch(each.stored))) return true
    }
    return false
  }

  #add(commit: Commit): Commit {
    this.#indexes.set(commit.version, this.#commits.length)
    this.#commits.push(commit)
    return commit
  }
}

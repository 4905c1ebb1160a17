import type { Item, State, Stored } from '../backend/history.js'
import { nameOf } from '../system/scenario.js'
import type { IsIn } from '../workload/follower.js'
import type { SetMember } from './set-member.js'

/** All possible sources of a set, with their common state. */
export class SetMembers implements Iterable<SetMember> {
  readonly #members: readonly SetMember[]
  /** Whether several sources share keys. */
  readonly overlap: boolean

  constructor(members: readonly SetMember[], overlap: boolean) {
    this.#members = members
    this.overlap = overlap
  }

  [Symbol.iterator](): Iterator<SetMember> {
    return this.#members[Symbol.iterator]()
  }

  get all(): readonly SetMember[] {
    return this.#members
  }

  /** The sources that are in the set. */
  get current(): readonly SetMember[] {
    return this.#members.filter(({ isIn }) => isIn)
  }

  named(name: string | undefined): SetMember | undefined {
    return this.#members.find((member) => member.name === name)
  }

  /** The source that wrote a content, and the identity of its object. */
  writerOf(n: number): { readonly member: SetMember; readonly uid: string } | undefined {
    for (const member of this.#members) {
      const uid = member.uidOf(n)
      if (uid !== undefined) return { member, uid }
    }
    return undefined
  }

  /** The source of a key with this content: with disjoint keys, the key determines it. */
  ownerOf(key: string, n: number): SetMember | undefined {
    return this.overlap ? this.writerOf(n)?.member : this.#members.find((member) => member.has(key))
  }

  /** The current objects; for a shared key, of the first source. */
  get state(): State {
    const state = new Map<string, Stored>()
    for (const member of this.current)
      for (const [key, stored] of member.objects)
        if (!state.has(key) || state.get(key)?.isInvalid) state.set(key, stored)
    return state
  }

  /** The difference between some objects and the sources at rest: each key has the state of one of its sources. */
  flaw(held: (key: string) => Item | undefined, what: string, isIn: IsIn = () => true): string | undefined {
    const keys = new Set(this.#members.flatMap(({ settings }) => settings.keys))
    for (const key of keys) {
      const all = this.current.map((member) => ({ slot: member, stored: member.objects.get(key) }))
      if (all.some(({ stored }) => stored?.isInvalid)) continue
      const n = held(key)?.n
      const right = all.flatMap(({ slot: member, stored }) => (member.wants(stored) ? [stored.item] : []))
      const isRight =
        n === undefined
          ? right.every((item) => !isIn(item, key)) || this.#mayBeAnothers(right, key, isIn)
          : right.some((item) => item.n === n && isIn(item, key))
      if (!isRight) return `${what} ${nameOf(key)} = n${n}, and the sources have n${right.map((item) => item.n)}`
    }
    return undefined
  }

  /** Of several sources of a key, one counts; a follower that wants only the object of another one has none. */
  #mayBeAnothers(right: readonly Item[], key: string, isIn: IsIn): boolean {
    return right.length > 1 && right.some((item) => !isIn(item, key))
  }
}

import type { Item, State, Stored } from '../backend/history.js'
import { flawAtRest } from '../checkers/store-checker.js'
import type { IsIn } from '../workload/follower.js'
import type { SetMember } from './set-member.js'

/** All possible sources of a set, with their common state. */
export class SetMembers implements Iterable<SetMember> {
  readonly #members: readonly SetMember[]
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
  flaw(held: (key: string) => Item | undefined, what: string, isIn?: IsIn): string | undefined {
    const keys = new Set(this.#members.flatMap(({ settings }) => settings.keys))
    return flawAtRest(this.current, held, what, isIn, keys)
  }
}

import type { Item, State, Stored } from '../backend/history.js'
import { nameOf } from '../system/scenario.js'
import type { IsIn } from '../workload/follower.js'
import type { SetMember } from './set-member.js'

/** All sources that a set may have, as one truth. */
export class SetMembers implements Iterable<SetMember> {
  readonly #members: readonly SetMember[]
  /** Whether some keys are more than one source's. */
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

  /** Those that are in the set. */
  get current(): readonly SetMember[] {
    return this.#members.filter(({ isIn }) => isIn)
  }

  named(name: string | undefined): SetMember | undefined {
    return this.#members.find((member) => member.name === name)
  }

  /** Whose content it is, and of which object. */
  writerOf(n: number): { readonly member: SetMember; readonly uid: string } | undefined {
    for (const member of this.#members) {
      const uid = member.uidOf(n)
      if (uid !== undefined) return { member, uid }
    }
    return undefined
  }

  /** Whose a key with this content is: where keys are disjoint the key says it. */
  ownerOf(key: string, n: number): SetMember | undefined {
    return this.overlap ? this.writerOf(n)?.member : this.#members.find((member) => member.has(key))
  }

  /** What there is now, of whoever comes first. */
  get state(): State {
    const state = new Map<string, Stored>()
    for (const member of this.current)
      for (const [key, stored] of member.objects)
        if (!state.has(key) || state.get(key)?.isInvalid) state.set(key, stored)
    return state
  }

  /** What is wrong with what somebody holds at rest: each key is as one of those who have it says. */
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

  /** Of several that give a key one counts; who wants only what another one has, has nothing. */
  #mayBeAnothers(right: readonly Item[], key: string, isIn: IsIn): boolean {
    return right.length > 1 && right.some((item) => !isIn(item, key))
  }
}

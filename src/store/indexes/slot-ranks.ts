import type { Steps } from '../../util/steps.js'
import { kindOf, type Scalar, STRING } from './scalar.js'
import { type Column, type KnownRanks, STEP } from './slot-sort.js'

/** The number of characters in a rank. Each is a number up to `OTHERS`: 0 is the end, the greatest is not ASCII. */
const WIDTH = 7
const OTHERS = 129
/** One slot in this many is read for the common prefix. */
const SAMPLE = 16

/**
 * Two numbers of each slot, for the first two components of its tuple and key. A search compares them: to read the
 * components themselves, it would wait for memory several times at each slot. A greater number is a greater component.
 * Components with the same number may differ.
 */
export class SlotRanks implements KnownRanks {
  #ranks = new Float64Array(0)
  #first = new Ranking()
  #second = new Ranking()
  #hasSecond = true

  clear(): void {
    this.#ranks = new Float64Array(0)
    this.#first = new Ranking()
    this.#second = new Ranking()
    this.#hasSecond = true
  }

  /** Sets the ranks of all slots that have a key, a few at each step. */
  *setAll(columns: readonly Column[], keys: Column): Steps {
    this.clear()
    const [first, second = keys] = columns
    this.#ranks = new Float64Array(2 * keys.length)
    // The common prefix of few strings is not used: later strings often begin with another one.
    for (let slot = 0; slot < keys.length && keys.length > STEP; slot += SAMPLE) {
      if (slot % STEP === 0) yield
      if (keys[slot] === undefined) continue
      this.#first.sample(first?.[slot])
      this.#second.sample(second[slot])
    }
    for (let slot = 0; slot < keys.length; slot++) {
      if (keys[slot] !== undefined) this.set(slot, columns, keys)
      if (slot % STEP === 0) yield
    }
  }

  /** Called at each write of a tuple. */
  set(slot: number, columns: readonly Column[], keys: Column): void {
    const at = 2 * slot
    if (at + 1 >= this.#ranks.length) {
      const larger = new Float64Array(Math.max(Math.ceil(at * 1.25), 64))
      larger.set(this.#ranks)
      this.#ranks = larger
    }
    this.#ranks[at] = this.#first.rankOf(columns[0]?.[slot])
    this.#ranks[at + 1] = this.#second.rankOf((columns[1] ?? keys)[slot])
  }

  /** Called when the second component is no longer the key. */
  dropSecond(): void {
    this.#hasSecond = false
  }

  rankAt(slot: number, column: number): number {
    return this.#ranks[2 * slot + column] ?? 0
  }

  isExact(rank: number, column: number): boolean {
    return (column === 0 ? this.#first : this.#second).isExact(rank)
  }

  /** Whether slots that `comparer` cannot tell from `slot` have the same first component. */
  isFirstExact(slot: number): boolean {
    return this.isExact(this.rankAt(slot, 0), 0)
  }

  /** Returns a function that compares another slot with `slot`. It returns 0 if the ranks do not decide. */
  comparer(slot: number): (each: number) => number {
    const ranks = this.#ranks
    const first = ranks[2 * slot] ?? 0
    const second = ranks[2 * slot + 1] ?? 0
    const usesSecond = this.#hasSecond && this.isFirstExact(slot)
    return (each) => {
      const one = ranks[2 * each] ?? 0
      if (one !== first) return one < first ? -1 : 1
      const two = usesSecond ? (ranks[2 * each + 1] ?? 0) : second
      return two === second ? 0 : two < second ? -1 : 1
    }
  }
}

/** The ranks of one component. */
class Ranking {
  /** The kind of most values: others are below or above all of them. */
  #kind: number | undefined
  /** The strings begin with it. Others are below or above all that do. */
  #prefix: string | undefined

  sample(value: Scalar | undefined): void {
    this.#kind ??= kindOf(value)
    if (typeof value !== 'string' || this.#prefix === '') return
    this.#prefix ??= value
    while (!value.startsWith(this.#prefix)) this.#prefix = this.#prefix.slice(0, -1)
  }

  rankOf(value: Scalar | undefined): number {
    const kind = kindOf(value)
    this.#kind ??= kind
    if (kind !== this.#kind) return kind < this.#kind ? -Infinity : Infinity
    if (typeof value === 'string') return this.#rankOfText(value, this.#prefix ?? '')
    return Number(value) || 0
  }

  /** Whether all values with this rank are equal. */
  isExact(rank: number): boolean {
    return Math.abs(rank) <= Number.MAX_SAFE_INTEGER && (this.#kind !== STRING || rank % 2 === 0)
  }

  /** Returns an even number if the characters in the rank are the whole string after the prefix. */
  #rankOfText(text: string, prefix: string): number {
    if (prefix !== '' && !text.startsWith(prefix)) return text < prefix ? -Infinity : Infinity
    const end = prefix.length + WIDTH
    const last = Math.min(text.length, end)
    let rank = 0
    let isAscii = true
    let at = prefix.length
    for (; at < last && isAscii; at++) {
      const unit = Math.min(text.charCodeAt(at) + 1, OTHERS)
      isAscii = unit < OTHERS
      rank = rank * (OTHERS + 1) + unit
    }
    for (; at < end; at++) rank *= OTHERS + 1
    return 2 * rank + (isAscii && text.length <= end ? 0 : 1)
  }
}

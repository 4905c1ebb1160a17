import { messageOf } from '../contract/errors.js'
import { ExactSum } from './exact-sum.js'

export type Summands = ReadonlyMap<string, (object: unknown) => unknown>

export class GroupSums {
  readonly #summands: Summands
  readonly #sums: ReadonlyMap<string, ExactSum>
  /** The objects without a number, by key. */
  readonly #failing = new Map<string, unknown>()

  constructor(summands: Summands) {
    this.#summands = summands
    this.#sums = new Map(Array.from(summands.keys(), (name) => [name, new ExactSum()]))
  }

  add(key: string, object: unknown): void {
    try {
      for (const [name, number] of this.#numbersOf(object)) this.#sums.get(name)?.add(number)
    } catch (error) {
      this.#failing.set(key, error)
    }
  }

  remove(key: string, object: unknown): void {
    if (this.#failing.delete(key)) return
    for (const [name, number] of this.#numbersOf(object)) this.#sums.get(name)?.remove(number)
  }

  /** Returns whether the sums may have changed. */
  replace(key: string, before: unknown, now: unknown): boolean {
    if (this.#failing.size === 0) {
      try {
        const old = new Map(this.#numbersOf(before))
        const numbers = this.#numbersOf(now)
        if (numbers.every(([name, number]) => old.get(name) === number)) return false
      } catch {
        // `add` keeps the error.
      }
    }
    this.remove(key, before)
    this.add(key, now)
    return true
  }

  /** @throws TypeError if an object of the group has no number for a sum. */
  get values(): Readonly<Record<string, number>> {
    for (const [key, error] of this.#failing) throw new TypeError(`the object "${key}": ${messageOf(error)}`)
    return Object.fromEntries(Array.from(this.#sums, ([name, sum]) => [name, sum.value]))
  }

  #numbersOf(object: unknown): (readonly [name: string, number: number])[] {
    return Array.from(this.#summands, ([name, summand]) => {
      const number = summand(object) ?? 0
      if (typeof number !== 'number' || !Number.isFinite(number))
        throw new TypeError(
          `the sum "${name}" needs a finite number, null or undefined, and not the ${typeof number} ${String(number)}`,
        )
      return [name, number]
    })
  }
}

/**
 * A possible index value. Dates are compared by value. A number and a bigint of the same value are equal.
 *
 * @example
 * ```ts
 * import type { Equal, IndexBuilder, Scalar } from 'listwatch'
 *
 * type Row = Readonly<Record<string, Scalar | null>>
 * // Indexes a column that is known only at run time.
 * function byColumn(ix: IndexBuilder<Row>, column: string): { readonly column: Equal<Row, Scalar> } {
 *   return { column: ix.equal((row) => row[column]) }
 * }
 * ```
 */
export type Scalar = string | number | bigint | boolean | Date

export function isScalar(value: unknown): value is Scalar {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'bigint':
    case 'boolean':
      return true
    default:
      return value instanceof Date
  }
}

export function isScalars(value: unknown): value is readonly Scalar[] {
  return Array.isArray(value) && value.every(isScalar)
}

/** Returns the scalars of an index value, which is a scalar, an array of scalars or undefined. */
export function scalarsOf(value: unknown): readonly Scalar[] {
  if (isScalar(value)) return [value]
  return isScalars(value) ? value : []
}

/** Copies a Date, which is mutable. Returns all other scalars as they are. */
export function copyScalar<V extends Scalar>(value: V): V
export function copyScalar(value: Scalar): Scalar {
  // Not `value.getTime()`, which an instance may override.
  return typeof value === 'object' ? new Date(Date.prototype.getTime.call(value)) : value
}

/** Returns whether `compareScalars` returns 0. */
export function sameScalar(a: Scalar | undefined, b: Scalar | undefined): boolean {
  if (a === b) return true
  if (typeof a === 'string' || a === undefined || b === undefined) return false
  return compareScalars(a, b) === 0
}

/** Kinds of values, in order. Only values of the kinds `BOOLEAN`, `NUMBER`, `DATE` and `STRING` differ. */
export const ENDED = 0
export const BOOLEAN = 1
const LEAST = 2
export const NUMBER = 3
export const DATE = 4
const INVALID_DATE = 5
const GREATEST = 6
const NAN = 7
export const STRING = 8

export function kindOf(value: Scalar | undefined): number {
  switch (typeof value) {
    case 'undefined':
      return ENDED
    case 'boolean':
      return BOOLEAN
    case 'number':
      if (Number.isFinite(value)) return NUMBER
      return value === Infinity ? GREATEST : value === -Infinity ? LEAST : NAN
    case 'bigint':
      return NUMBER
    case 'string':
      return STRING
    default:
      return Number.isNaN(value.getTime()) ? INVALID_DATE : DATE
  }
}

/** Compares two scalars in the total order of `IndexRange`, in which invalid Dates come after all other Dates. */
export function compareScalars(a: Scalar, b: Scalar): number {
  if (typeof a === 'string' && typeof b === 'string') return a === b ? 0 : a < b ? -1 : 1
  if (typeof a === 'number' && typeof b === 'number') {
    if (a < b) return -1
    if (a > b) return 1
    if (a === b) return 0
  }
  const left = kindOf(a)
  const right = kindOf(b)
  if (left !== right) return left - right
  const x = a instanceof Date ? a.getTime() : a
  const y = b instanceof Date ? b.getTime() : b
  return x < y ? -1 : x > y ? 1 : 0
}

/** The kinds of values that programs tell apart. Infinity is beyond numbers and Dates, so it has none of them. */
export const TYPES: ReadonlyMap<number, string> = new Map([
  [BOOLEAN, 'boolean'],
  [NUMBER, 'number'],
  [DATE, 'Date'],
  [STRING, 'string'],
])

/** The type of a wrong value, in an error. */
export function typeOf(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object'
  return `a ${typeof value}`
}

/** A Map keyed by scalars, in which equal scalars are one key. */
export class ScalarMap<V> {
  readonly #plain = new Map<unknown, V>()
  readonly #dates = new Map<number, V>()
  readonly #nameOf: () => string

  constructor(nameOf: () => string = () => 'an index') {
    this.#nameOf = nameOf
  }

  /** Returns undefined also for null and undefined, which callers without types may pass. */
  get(key: Scalar): V | undefined {
    if (typeof key === 'object' && key !== null) return this.#dates.get(this.#timeOf(key))
    return this.#plain.get(plainKey(key))
  }

  /** A lookup without types may have an array, as compound indexes take, or an object, as `where` does. */
  #timeOf(key: Date): number {
    if (typeof key.getTime === 'function') return key.getTime()
    const what = `the value must be a string, number, bigint, boolean or Date, got ${typeOf(key)}`
    throw new TypeError(`${this.#nameOf()}: ${what}`)
  }

  set(key: Scalar, value: V): void {
    if (typeof key === 'object') this.#dates.set(key.getTime(), value)
    else this.#plain.set(plainKey(key), value)
  }

  delete(key: Scalar): void {
    if (typeof key === 'object') this.#dates.delete(key.getTime())
    else this.#plain.delete(plainKey(key))
  }

  clear(): void {
    this.#plain.clear()
    this.#dates.clear()
  }

  get size(): number {
    return this.#plain.size + this.#dates.size
  }

  *values(): Iterable<V> {
    yield* this.#plain.values()
    yield* this.#dates.values()
  }
}

/** Returns a bigint as the number of the same value, if there is one. */
function plainKey(key: unknown): unknown {
  if (typeof key !== 'bigint') return key
  const number = Number(key)
  return Number.isFinite(number) && BigInt(number) === key ? number : key
}

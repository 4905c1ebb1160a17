import { compareHead, type Tuple } from '../store/indexes/order/sorted-tuples.js'
import { isScalars, kindOf, type Scalar, ScalarMap, sameScalar } from '../store/indexes/scalar.js'
import { joinKey } from '../util/join-key.js'

/** A Map by values of indexes: scalars, or tuples of them. Equal values are one key. */
export class ValueMap<V> {
  readonly #scalars = new ScalarMap<V>()
  readonly #tuples = new Map<string, V>()

  get(value: Scalar | Tuple): V | undefined {
    return isScalars(value) ? this.#tuples.get(idOf(value)) : this.#scalars.get(value)
  }

  set(value: Scalar | Tuple, to: V): void {
    if (isScalars(value)) this.#tuples.set(idOf(value), to)
    else this.#scalars.set(value, to)
  }

  delete(value: Scalar | Tuple): void {
    if (isScalars(value)) this.#tuples.delete(idOf(value))
    else this.#scalars.delete(value)
  }
}

/** Whether two values of an index are one value. A scalar equals no tuple. */
export function sameValue(a: Scalar | Tuple, b: Scalar | Tuple): boolean {
  if (isScalars(a)) return isScalars(b) && a.length === b.length && compareHead(a, b) === 0
  return !isScalars(b) && sameScalar(a, b)
}

/** Returns a text that equal tuples have in common. */
function idOf(tuple: Tuple): string {
  return JSON.stringify(tuple.map((each) => [kindOf(each), textOf(each)]))
}

/** The text of a value is the key of its group. */
export function textOf(value: Scalar | Tuple): string {
  if (isScalars(value)) return joinKey(value.map(textOf))
  if (typeof value === 'bigint') return BigInt(Number(value)) === value ? String(Number(value)) : String(value)
  if (typeof value !== 'object') return String(value)
  return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
}

import { messageOf } from '../../contract/errors.js'
import type { Entry } from '../../contract/source.js'
import { isThenable } from '../../util/type-guards.js'
import type { Ordinal } from '../ordinals.js'
import type { Pin } from '../pin.js'
import type { Store } from '../store.js'
import { EqualIndex, type HashIndex } from './hash-index.js'
import type { IndexBuilder } from './index-types.js'
import { MultiIndex } from './multi-index.js'
import { copyScalar, isScalar, isScalars, type Scalar, ScalarMap, scalarsOf } from './scalar.js'
import { SortedIndex } from './sorted-index.js'
import type { StoreIndex } from './store-index.js'

export const MAX_INDEX_VALUES = 10_000

/** An index with its name, and its public functions over the store and over a pin. */
export interface DeclaredIndex<T> {
  readonly name: string
  /** The kind of the index, and the text of its function. Saved values of another signature are not used. */
  readonly signature: string
  readonly index: StoreIndex<T>
  readonly accessor: unknown
  accessorAt(pin: Pin<T>): unknown
  /** Whether remembered index values match `value` of `where: { name: value }`. */
  includes(remembered: unknown, value: unknown): boolean
  /** Returns the flaw of `value` in `where: { name: value }`, or undefined if it is valid. */
  flawIn(value: unknown): string | undefined
  ordinalsWith(value: unknown): readonly Ordinal[]
  /** Returns the scalars of a remembered value; undefined if the index can only be matched with `includes`. */
  scalarsOf(remembered: unknown): readonly Scalar[] | undefined
}

/** Reports the first failure of each index. @throws TypeError if `declare` returns no object of indexes. */
export function declareIndexes<T, I extends object>(
  store: Store<T>,
  declare: (ix: IndexBuilder<T>) => I,
  report: (message: string, cause: unknown, key: string) => void,
): { readonly by: I; readonly declared: DeclaredIndex<T>[] } {
  const made = new Map<unknown, Omit<DeclaredIndex<T>, 'name'>>()
  const names = new Map<StoreIndex<T>, string>()
  const nameOf = (index: StoreIndex<T>): string => `index "${names.get(index) ?? '?'}"`
  const by: unknown = declare(builderFor(store, made, nameOf, report))
  if (typeof by !== 'object' || by === null || isThenable(by))
    throw new TypeError('indexes: must return an object of indexes')
  const declared = Object.entries(by).map(([name, accessor]) => {
    const index = made.get(accessor)
    if (index === undefined)
      throw new TypeError(`indexes: "${name}" is not an index; make it with ix.equal, ix.multi, …`)
    names.set(index.index, name)
    return { ...index, name }
  })
  return { by: Object.assign(Object.create(null), by) as I, declared }
}

function builderFor<T>(
  store: Store<T>,
  made: Map<unknown, Omit<DeclaredIndex<T>, 'name'>>,
  nameOf: (index: StoreIndex<T>) => string,
  report: (message: string, cause: unknown, key: string) => void,
): IndexBuilder<T> {
  /** Makes an index of the user's function. If that or `read` throws, the value of the object is `otherwise`. */
  const indexOf = <X extends StoreIndex<T>, V, R>(
    Index: new (store: Store<T>, of: (entry: Entry<T>) => R, nameOf: () => string) => X,
    of: (object: T, key: string) => V,
    read: (value: V) => R,
    otherwise: R,
  ): X => {
    if (typeof of !== 'function') throw new TypeError('indexes: an index needs a function')
    let hasFailed = false
    const guarded = (entry: Entry<T>): R => {
      try {
        const value = of(entry.object, entry.key)
        if (isThenable(value)) value.then(undefined, () => {}) // It is not a scalar.
        return read(value)
      } catch (error) {
        if (!hasFailed) report(`the function of ${nameOf(index)} failed: ${messageOf(error)}`, error, entry.key)
        hasFailed = true
        return otherwise
      }
    }
    const index: X = new Index(store, guarded, () => nameOf(index))
    return index
  }
  const register = <A>(accessor: A, index: Omit<DeclaredIndex<T>, 'name' | 'accessor'>): A => {
    made.set(accessor, { ...index, accessor })
    return accessor
  }
  const ofBuckets = (index: HashIndex<T>): Omit<DeclaredIndex<T>, 'name' | 'signature' | 'accessor'> => ({
    index,
    accessorAt: (pin) => index.accessor(pin),
    includes: (remembered, value) => isScalar(value) && index.includes(remembered, value),
    ordinalsWith: (value) => (isScalar(value) ? index.ordinalsWith(value) : []),
    flawIn: flawInScalar,
    scalarsOf,
  })
  return {
    equal<V extends Scalar>(of: (object: T, key: string) => V | null | undefined) {
      const index = indexOf(EqualIndex<T>, of, readScalar, undefined)
      return register(index.accessor<V>(), { ...ofBuckets(index), signature: `equal ${of}` })
    },
    multi<V extends Scalar>(of: (object: T, key: string) => Iterable<V>) {
      const index = indexOf(MultiIndex<T>, of, readScalars, [])
      return register(index.accessor<V>(), { ...ofBuckets(index), signature: `multi ${of}` })
    },
    ordered<V extends Scalar>(of: (object: T, key: string) => V | null | undefined) {
      const read = (value: unknown): readonly Scalar[] | undefined => {
        const scalar = readScalar(value)
        return scalar === undefined ? undefined : [scalar]
      }
      const index = indexOf(SortedIndex<T>, of, read, undefined)
      return register(index.ordered<V>(), {
        signature: `ordered ${of}`,
        index,
        accessorAt: (pin) => index.ordered(pin),
        includes: (remembered, value) => isScalar(value) && index.includes(remembered, [value]),
        ordinalsWith: (value) => (isScalar(value) ? index.ordinalsWith([value]) : []),
        flawIn: flawInScalar,
        scalarsOf,
      })
    },
    compound<const V extends readonly (Scalar | null | undefined)[]>(
      of: (object: T, key: string) => V | null | undefined,
    ) {
      const index = indexOf(SortedIndex<T>, of, readTuple, undefined)
      return register(index.compound<{ [K in keyof V]: NonNullable<V[K]> }>(), {
        signature: `compound ${of}`,
        index,
        accessorAt: (pin) => index.compound(pin),
        includes: (remembered, value) => isScalars(value) && index.includes(remembered, value),
        ordinalsWith: (value) => (isScalars(value) ? index.ordinalsWith(value) : []),
        flawIn: (value) => (isScalars(value) && value.length > 0 ? undefined : 'must be an array of scalars'),
        scalarsOf: () => undefined,
      })
    },
  }
}

function flawInScalar(value: unknown): string | undefined {
  return isScalar(value) ? undefined : 'must be a string, number, bigint, boolean or Date'
}

function readScalar(value: unknown): Scalar | undefined {
  if (value === null || value === undefined) return undefined
  if (isScalar(value)) return copyScalar(value)
  throw new TypeError(`it returned ${describe(value)}; a string, number, bigint, boolean or Date is allowed`)
}

function readTuple(value: unknown): readonly Scalar[] | undefined {
  if (value === null || value === undefined) return undefined
  if (!Array.isArray(value)) throw new TypeError(`it returned ${describe(value)}; an array of scalars is allowed`)
  const tuple: Scalar[] = []
  for (const each of value) {
    const scalar = readScalar(each)
    if (scalar === undefined) return undefined
    tuple.push(scalar)
  }
  return tuple
}

function readScalars(values: Iterable<unknown>): readonly Scalar[] {
  if (values === null || values === undefined) return []
  if (typeof values === 'string' || typeof values[Symbol.iterator] !== 'function') {
    throw new TypeError(`it returned ${describe(values)}; an iterable of scalars is allowed`)
  }
  const seen = new ScalarMap<Scalar>()
  for (const value of values) {
    const scalar = readScalar(value)
    if (scalar !== undefined) seen.set(scalar, scalar)
    if (seen.size > MAX_INDEX_VALUES)
      throw new TypeError(`it returned more than ${MAX_INDEX_VALUES} values for one object`)
  }
  return [...seen.values()]
}

function describe(value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (isThenable(value)) return 'a promise'
  return Array.isArray(value) ? 'an array' : `a value of type ${typeof value}`
}

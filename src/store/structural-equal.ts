import { membersOf } from '../util/type-guards.js'

/** Values below this depth count as different. That can cause an unnecessary update, but never loses one. */
const MAX_DEPTH = 500
/** Later pairs are remembered: a value that an object contains often would be compared exponentially often. */
const PLAIN_PAIRS = 10_000

/** The names of deeper properties are not remembered. */
const REMEMBERED_DEPTH = 3

type Properties = Readonly<Record<string, unknown>>
type Members = Readonly<Record<PropertyKey, unknown>>

/** The path to the last difference. Later names may be of an earlier comparison. */
const lastDifference: string[] = []
let pairsLeft = PLAIN_PAIRS
/** Union-find: each object leads to another one that it was compared with. */
let merged: Map<object, object> | undefined
let comparison: ComparisonOptions = {}

/** Whether the classes of a prototype have all their state in the own properties of instances. */
const openPrototypes = new WeakMap<object, boolean>()
/** The content of their instances is compared. */
const contentPrototypes: ReadonlySet<unknown> = new Set([Array, Date, Map, Set].map(({ prototype }) => prototype))
/** Private names, and calls with `this` that keep its state in another object, as compilers write private names. */
const HIDES_STATE =
  /#|WeakMap|rivate|\.(?:get|set|has|add)\(\s*this\b|(?<![.\w$]|new )[\w$]+\(\s*this\s*(?:,\s*[\w$]+\s*[,)]|\)\s*[.[])|\[native code\]/

export interface ComparisonOptions {
  /**
   * Whether a program made the values. Then plain objects and arrays are compared by all their own properties, which
   * takes ten times as long. Default: by their enumerable names or their elements, which JSON and rows have.
   */
  readonly isMade?: boolean
  /** Called with the name of a class whose instances may have state that is not in their own properties. */
  readonly onHidden?: (className: string) => void
}

/**
 * Whether two values are equal. Plain objects, arrays, Dates, Maps and Sets are compared by content, typed arrays by
 * their bytes. An instance of another class is compared by its own properties. It equals only itself if it has none, or
 * if its class may have other state.
 */
export function structuralEqual(a: unknown, b: unknown, options: ComparisonOptions = {}): boolean {
  if (differAsBefore(a, b)) return false
  // A getter of a compared object may call this function too.
  const outerPairs = pairsLeft
  const outerMerged = merged
  const outerComparison = comparison
  pairsLeft = PLAIN_PAIRS
  merged = undefined
  comparison = options
  try {
    return equalAt(a, b, 0)
  } finally {
    pairsLeft = outerPairs
    merged = outerMerged
    comparison = outerComparison
  }
}

/** Most changed objects differ in their version: then the values before it need not be loaded from memory. */
function differAsBefore(a: unknown, b: unknown): boolean {
  let [left, right] = [a, b]
  for (const name of lastDifference) {
    if (!isObject(left) || !isObject(right) || !Object.prototype.propertyIsEnumerable.call(left, name)) return false
    if (Object.getPrototypeOf(left) !== Object.prototype || Object.getPrototypeOf(right) !== Object.prototype)
      return false
    left = left[name]
    right = right[name]
    if (!isObject(left)) return left !== right && !Object.is(left, right)
  }
  return false
}

function equalAt(a: unknown, b: unknown, depth: number): boolean {
  if (a === b) return true
  if (!isObject(a) || !isObject(b)) return Object.is(a, b)
  if (depth > MAX_DEPTH) return false
  if (pairsLeft-- <= 0 && isMerged(a, b)) return true
  const prototype: unknown = Object.getPrototypeOf(a)
  if (prototype !== Object.getPrototypeOf(b)) return false
  if (prototype === Object.prototype || prototype === null) return equalProperties(a, b, depth)
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || !equalArrays(a, b, depth)) return false
    if (prototype === Array.prototype && comparison.isMade !== true) return true
    return equalInstances(a, b, depth)
  }
  if (ArrayBuffer.isView(a)) return ArrayBuffer.isView(b) && equalBytes(a, b)
  if (a instanceof Date) return b instanceof Date && Object.is(a.getTime(), b.getTime()) && equalInstances(a, b, depth)
  if (a instanceof Map) return b instanceof Map && equalMaps(a, b, depth) && equalInstances(a, b, depth)
  if (a instanceof Set) return b instanceof Set && equalSets(a, b) && equalInstances(a, b, depth)
  return equalInstances(a, b, depth) && Reflect.ownKeys(a).length > 0
}

function isObject(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null
}

function equalArrays(a: readonly unknown[], b: readonly unknown[], depth: number): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!equalAt(a[i], b[i], depth + 1)) return false
  return true
}

/** Loops over each object once, without an array of values: most differences are found early. */
function equalProperties(left: Properties, right: Properties, depth: number): boolean {
  let names = 0
  for (const name in left) {
    const value = right[name]
    if (!equalAt(left[name], value, depth + 1)) {
      if (depth < REMEMBERED_DEPTH) lastDifference[depth] = name
      return false
    }
    const mayBeInherited = value === undefined || typeof value === 'function' || name === '__proto__'
    if (mayBeInherited && !Object.hasOwn(right, name)) return false
    names++
  }
  for (const _name in right) names--
  return names === 0 && (comparison.isMade !== true || equalKeys(left, right, depth))
}

function equalInstances(left: Properties, right: Properties, depth: number): boolean {
  return equalKeys(left, right, depth) && isOpen(Object.getPrototypeOf(left))
}

/** Compares all own properties: also symbols, and those that are not enumerable. */
function equalKeys(left: Members, right: Members, depth: number): boolean {
  const keys = Reflect.ownKeys(left)
  if (keys.length !== Reflect.ownKeys(right).length) return false
  return keys.every((key) => Object.hasOwn(right, key) && equalAt(left[key], right[key], depth + 1))
}

/** Reads the text of classes: nothing else shows whether their instances have private state. */
function isOpen(prototype: unknown): boolean {
  // The last prototype is that of all objects, perhaps of another realm.
  if (!isObject(prototype) || contentPrototypes.has(prototype) || Object.getPrototypeOf(prototype) === null) return true
  let isOpenClass = openPrototypes.get(prototype)
  if (isOpenClass === undefined) {
    const members = Object.values(Object.getOwnPropertyDescriptors(prototype))
    const texts = members
      .flatMap(({ value, get, set }) => [value, get, set])
      .filter((each) => typeof each === 'function')
    isOpenClass = !texts.some((each) => HIDES_STATE.test(Function.prototype.toString.call(each)))
    openPrototypes.set(prototype, isOpenClass)
  }
  if (!isOpenClass) comparison.onHidden?.(String(membersOf(membersOf(prototype)['constructor'])['name']))
  return isOpenClass && isOpen(Object.getPrototypeOf(prototype))
}

function equalBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  if (a.byteLength !== b.byteLength) return false
  const left = new Uint8Array(a.buffer, a.byteOffset, a.byteLength)
  const right = new Uint8Array(b.buffer, b.byteOffset, b.byteLength)
  return left.every((byte, at) => byte === right[at])
}

function equalMaps(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>, depth: number): boolean {
  return a.size === b.size && a.entries().every(([key, value]) => b.has(key) && equalAt(value, b.get(key), depth + 1))
}

function equalSets(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  return a.size === b.size && a.values().every((value) => b.has(value))
}

/** Whether two objects were compared before, also through a common one, or are being compared. */
function isMerged(a: object, b: object): boolean {
  merged ??= new Map()
  const [left, right] = [rootOf(merged, a), rootOf(merged, b)]
  if (left === right) return true
  merged.set(left, right)
  return false
}

function rootOf(links: Map<object, object>, object: object): object {
  let root = object
  for (let next = links.get(root); next !== undefined; next = links.get(root)) root = next
  for (let each = object; each !== root; ) {
    const next = links.get(each) ?? root
    links.set(each, root)
    each = next
  }
  return root
}

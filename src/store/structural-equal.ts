/** Values below this depth count as different. That can cause an unnecessary update, but never loses one. */
const MAX_DEPTH = 500
/**
 * After this many pairs of objects, later pairs are remembered. Without that, values that an object contains several
 * times would be compared exponentially often. Most comparisons end earlier, without the cost of memory.
 */
const PLAIN_PAIRS = 10_000

/** The names of deeper properties are not remembered. */
const REMEMBERED_DEPTH = 3

type Properties = Readonly<Record<string, unknown>>

/**
 * The names that lead to the property in which two objects differed last. Later names may be of an earlier comparison.
 */
const lastDifference: string[] = []
let pairsLeft = PLAIN_PAIRS
/** Union-find: each object leads to another one that it was compared with. */
let merged: Map<object, object> | undefined

/**
 * Whether two values are equal. Plain objects, arrays, Dates, typed arrays, Maps and Sets are compared by content. An
 * instance of a class is compared by its own enumerable properties, or by identity if it has none.
 */
export function structuralEqual(a: unknown, b: unknown): boolean {
  if (differAsBefore(a, b)) return false
  // A getter of a compared object may call this function too.
  const outer = [pairsLeft, merged] as const
  ;[pairsLeft, merged] = [PLAIN_PAIRS, undefined]
  try {
    return equalAt(a, b, 0)
  } finally {
    ;[pairsLeft, merged] = outer
  }
}

/**
 * Whether two plain objects differ in the property in which two others differed last, if its value is not an object.
 * Most changed objects differ in their version. Then the values before it need not be loaded from memory.
 */
function differAsBefore(a: unknown, b: unknown): boolean {
  let [left, right] = [a, b]
  for (const name of lastDifference) {
    if (!isObject(left) || !isObject(right) || !isEnumerable(left, name)) return false
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
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b, depth)
  if (prototype === Object.prototype || prototype === null) return equalProperties(a, b, depth)
  if (a instanceof Date) return b instanceof Date && Object.is(a.getTime(), b.getTime())
  if (ArrayBuffer.isView(a)) return ArrayBuffer.isView(b) && equalBytes(a, b)
  if (a instanceof Map) return b instanceof Map && equalMaps(a, b, depth)
  if (a instanceof Set) return b instanceof Set && equalSets(a, b)
  return equalInstances(a, b, depth)
}

function isEnumerable(object: Properties, name: string): boolean {
  return Object.prototype.propertyIsEnumerable.call(object, name)
}

function isObject(value: unknown): value is Properties {
  return typeof value === 'object' && value !== null
}

function equalArrays(a: readonly unknown[], b: readonly unknown[], depth: number): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!equalAt(a[i], b[i], depth + 1)) return false
  return true
}

/** Loops over each object once, without an array of names: most differences are found early. */
function equalProperties(left: Properties, right: Properties, depth: number): boolean {
  let names = 0
  for (const name in left) {
    const value = right[name]
    if (!equalAt(left[name], value, depth + 1)) {
      if (depth < REMEMBERED_DEPTH) lastDifference[depth] = name
      return false
    }
    // The property of the other object may be inherited.
    if ((value === undefined || typeof value === 'function') && !Object.hasOwn(right, name)) return false
    names++
  }
  for (const _name in right) names--
  return names === 0
}

/** Classes in the old style have enumerable methods, which `for … in` would include. */
function equalInstances(left: Properties, right: Properties, depth: number): boolean {
  const names = Object.keys(left)
  if (names.length === 0 || names.length !== Object.keys(right).length) return false
  return names.every((name) => Object.hasOwn(right, name) && equalAt(left[name], right[name], depth + 1))
}

function equalBytes(a: ArrayBufferView, b: ArrayBufferView): boolean {
  if (a.byteLength !== b.byteLength) return false
  const left = new Uint8Array(a.buffer, a.byteOffset, a.byteLength)
  const right = new Uint8Array(b.buffer, b.byteOffset, b.byteLength)
  return left.every((byte, at) => byte === right[at])
}

function equalMaps(a: ReadonlyMap<unknown, unknown>, b: ReadonlyMap<unknown, unknown>, depth: number): boolean {
  if (a.size !== b.size) return false
  for (const [key, value] of a) if (!b.has(key) || !equalAt(value, b.get(key), depth + 1)) return false
  return true
}

function equalSets(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): boolean {
  if (a.size !== b.size) return false
  for (const value of a) if (!b.has(value)) return false
  return true
}

/**
 * Returns whether two objects were compared before, directly or through a common object, and records that they are. A
 * comparison in progress counts: one difference anywhere ends the whole comparison.
 */
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
  // Each object on the path leads to the root from now on.
  for (let each = object; each !== root; ) {
    const next = links.get(each) ?? root
    links.set(each, root)
    each = next
  }
  return root
}

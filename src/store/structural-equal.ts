/** Deeper than this two values count as different, which costs a needless update and never a lost one. */
const MAX_DEPTH = 500
/**
 * After this many pairs of objects, the pairs that follow are remembered. Parts that an object contains more than once
 * would be compared exponentially often otherwise; most objects are compared before that, without the cost of memory.
 */
const PLAIN_VISITS = 10_000

let visitsLeft = PLAIN_VISITS
/** Union-find: each object leads to another one that it was compared with. */
let merged: Map<object, object> | undefined

/**
 * Whether two objects say the same. Plain objects, arrays, Dates, typed arrays, Maps and Sets are compared by content;
 * an instance of a class by its own enumerable properties, or by identity where it has none.
 */
export function structuralEqual(a: unknown, b: unknown): boolean {
  // A getter of an object that is compared may come here too.
  const outer = [visitsLeft, merged] as const
  ;[visitsLeft, merged] = [PLAIN_VISITS, undefined]
  try {
    return equalAt(a, b, 0)
  } finally {
    ;[visitsLeft, merged] = outer
  }
}

function equalAt(a: unknown, b: unknown, depth: number): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return Object.is(a, b)
  if (depth > MAX_DEPTH) return false
  if (visitsLeft-- <= 0 && isMerged(a, b)) return true
  const prototype: unknown = Object.getPrototypeOf(a)
  if (prototype !== Object.getPrototypeOf(b)) return false
  if (Array.isArray(a)) return Array.isArray(b) && equalArrays(a, b, depth)
  if (prototype === Object.prototype || prototype === null) return equalProperties(a, b, depth)
  if (a instanceof Date) return Object.is(a.getTime(), (b as Date).getTime())
  if (ArrayBuffer.isView(a)) return equalBytes(a, b as ArrayBufferView)
  if (a instanceof Map) return equalMaps(a, b as Map<unknown, unknown>, depth)
  if (a instanceof Set) return equalSets(a, b as Set<unknown>)
  return equalInstances(a, b, depth)
}

function equalArrays(a: readonly unknown[], b: readonly unknown[], depth: number): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (!equalAt(a[i], b[i], depth + 1)) return false
  return true
}

/** One walk over each, and no array of names: most objects that differ do so early. */
function equalProperties(a: object, b: object, depth: number): boolean {
  const left = a as Readonly<Record<string, unknown>>
  const right = b as Readonly<Record<string, unknown>>
  let names = 0
  for (const name in left) {
    const value = right[name]
    if (!equalAt(left[name], value, depth + 1)) return false
    // What is there may be inherited.
    if ((value === undefined || typeof value === 'function') && !Object.hasOwn(right, name)) return false
    names++
  }
  for (const _name in right) names--
  return names === 0
}

/** Classes in the old style have methods that a walk with `for … in` would meet. */
function equalInstances(a: object, b: object, depth: number): boolean {
  const names = Object.keys(a)
  if (names.length === 0 || names.length !== Object.keys(b).length) return false
  const left = a as Readonly<Record<string, unknown>>
  const right = b as Readonly<Record<string, unknown>>
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
 * Whether two objects were compared before, directly or each with a common one; from now on they were. A comparison that
 * is still under way counts: one difference anywhere ends the whole comparison.
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
  // Each object on the way leads to the root from now on.
  for (let each = object; each !== root; ) {
    const next = links.get(each) ?? root
    links.set(each, root)
    each = next
  }
  return root
}

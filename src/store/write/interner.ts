/** Objects that nest deeper are kept as they are. So are cyclic ones, which seem to have no end. */
const MAX_DEPTH = 200
/** Objects with more values are kept as they are: an object may contain one value very often. */
const MAX_VALUES = 100_000
/** Larger objects and arrays are kept as they are, with everything inside. */
const MAX_MEMBERS = 256
/** Longer strings are kept as they are: the table of strings refers to its strings, so it must stay small. */
const MAX_TEXT = 128
/** V8 shares shorter strings of JSON by itself. */
const LONG_TEXT = 10
/** The first size of each table, and the greatest ones. */
const SLOTS = 16_384
const MAX_SLOTS = 262_144
const MAX_TEXT_SLOTS = 32_768

type Members = Record<PropertyKey, unknown>

/**
 * Replaces subtrees (plain objects and arrays) and strings inside an object by equal ones of earlier objects. Equal
 * subtrees have the same properties in the same order. The tables have a greatest size, and refer to subtrees weakly:
 * one that no stored object contains is collected, and one whose place was reused may be kept twice.
 */
export class Interner {
  readonly #subtrees: InternTable<WeakRef<object>>
  readonly #texts: InternTable<string>
  #valuesLeft = 0
  /** The hash of the value that was visited last. */
  #hash = 0
  /** Whether an equal value was found for it. Strings are the same for every comparison. */
  #isReplaced = false

  constructor(slots: number = SLOTS) {
    this.#subtrees = new InternTable(slots, MAX_SLOTS, (ref) => ref.deref() === undefined)
    this.#texts = new InternTable<string>(slots, MAX_TEXT_SLOTS)
  }

  /**
   * Returns an equal object whose subtrees are shared. The object as a whole never is: the store recognizes unchanged
   * objects by their identity.
   */
  intern<T>(object: T): T {
    if (typeof object !== 'object' || object === null) return object
    this.#valuesLeft = MAX_VALUES
    const visited = this.#visitMembers(object, 0)
    return visited === undefined || !visited.isChanged ? object : (copyOf(object, visited) as T)
  }

  #visit(value: unknown, depth: number): unknown {
    this.#isReplaced = false
    this.#valuesLeft--
    switch (typeof value) {
      case 'string':
        return this.#visitText(value)
      case 'number':
        this.#hash = Math.imul(value, 0x9e3779b1) ^ Math.trunc(value * 1_024)
        return value
      case 'boolean':
        this.#hash = value ? 3 : 5
        return value
      case 'object':
        if (value !== null) return this.#visitObject(value, depth)
        break
      default:
    }
    this.#hash = 7
    return value
  }

  #visitText(text: string): string {
    const hash = hashOf(text)
    this.#hash = hash
    if (text.length < 2 || text.length > MAX_TEXT) return text
    const texts = this.#texts
    const first = texts.placeOf(hash)
    for (let slot = first; slot < first + WAYS; slot++) {
      if (texts.hashes[slot] !== hash || texts.values[slot] !== text) continue
      texts.isFound[slot] = 1
      this.#isReplaced = text.length > LONG_TEXT
      return texts.values[slot] ?? text
    }
    texts.add(hash, text)
    return text
  }

  #visitObject(object: object, depth: number): object {
    const visited = this.#visitMembers(object, depth)
    if (visited === undefined) {
      this.#isReplaced = false
      this.#hash = 11
      return object
    }
    const { hash } = visited
    this.#hash = hash
    const known = this.#find(hash, object, visited)
    this.#isReplaced = (known !== undefined && known !== object) || visited.isChanged
    if (known !== undefined) return known
    const shared = visited.isChanged ? copyOf(object, visited) : object
    this.#subtrees.add(hash, new WeakRef(shared))
    return shared
  }

  /** Shares the values of all members. Undefined if the object is kept as it is, with everything inside. */
  #visitMembers(object: object, depth: number): Visited | undefined {
    const names = namesOf(object)
    if (names === undefined || depth > MAX_DEPTH) {
      // An object that is only a member of a deeper one stops nothing, a cycle does.
      if (depth > MAX_DEPTH) this.#valuesLeft = 0
      return undefined
    }
    const length = names === ARRAY ? (object as readonly unknown[]).length : names.length
    const values = new Array<unknown>(length)
    let hash = names === ARRAY ? 0x2c1b : 0x51ed
    let isChanged = false
    for (let at = 0; at < length; at++) {
      const name = names === ARRAY ? at : (names[at] ?? '')
      values[at] = this.#visit((object as Members)[name], depth + 1)
      if (this.#valuesLeft <= 0) return undefined
      isChanged ||= this.#isReplaced
      if (typeof name === 'string') hash = mix(hash, hashOfName(name))
      hash = mix(hash, this.#hash)
    }
    return { names, values, hash, isChanged }
  }

  #find(hash: number, object: object, visited: Visited): object | undefined {
    const subtrees = this.#subtrees
    const first = subtrees.placeOf(hash)
    for (let slot = first; slot < first + WAYS; slot++) {
      if (subtrees.hashes[slot] !== hash) continue
      const known = subtrees.values[slot]?.deref()
      if (known === undefined || !isSame(known, object, visited)) continue
      subtrees.isFound[slot] = 1
      return known
    }
    return undefined
  }
}

interface Visited {
  readonly names: readonly string[] | typeof ARRAY
  readonly values: readonly unknown[]
  readonly hash: number
  /** Whether a value is another than that of the object. */
  readonly isChanged: boolean
}

const ARRAY: unique symbol = Symbol('array')

/** Undefined if an equal object may not replace it: it is of a class, or has hidden properties or a gap. */
function namesOf(object: object): readonly string[] | typeof ARRAY | undefined {
  const prototype: unknown = Object.getPrototypeOf(object)
  if (Array.isArray(object)) {
    if (prototype !== Array.prototype || object.length > MAX_MEMBERS) return undefined
    const own = Reflect.ownKeys(object)
    // The names of other properties would come after "length".
    return own.length === object.length + 1 && own.at(-1) === 'length' ? ARRAY : undefined
  }
  if (prototype !== Object.prototype) return undefined
  const names = Object.keys(object)
  if (names.length > MAX_MEMBERS || Reflect.ownKeys(object).length !== names.length) return undefined
  // It cannot be assigned to a copy.
  return names.includes('__proto__') ? undefined : names
}

/** Whether the known subtree has the same members, in the same order. Members that are subtrees are shared already. */
function isSame(known: object, object: object, { names, values }: Visited): boolean {
  if (known === object) return true
  if (names === ARRAY) {
    if (!Array.isArray(known) || known.length !== values.length) return false
    for (let at = 0; at < values.length; at++) if (!Object.is(known[at], values[at])) return false
    return true
  }
  if (Array.isArray(known)) return false
  const others = Object.keys(known)
  if (others.length !== names.length) return false
  for (let at = 0; at < names.length; at++) {
    const name = names[at] ?? ''
    if (others[at] !== name || !Object.is((known as Members)[name], values[at])) return false
  }
  return true
}

function copyOf(object: object, { names, values }: Visited): object {
  if (names === ARRAY) return Object.isFrozen(object) ? Object.freeze(values) : values
  const copy: Members = { ...object }
  for (let at = 0; at < names.length; at++) copy[names[at] ?? ''] = values[at]
  return Object.isFrozen(object) ? Object.freeze(copy) : copy
}

/** Reads the beginning and the end of a long string. */
function hashOf(text: string): number {
  const { length } = text
  let hash = length
  for (let at = 0; at < length; at++) {
    if (at === 8 && length > 32) at = length - 24
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  }
  return hash ^ (hash >>> 15)
}

/** Names are few: the values of their properties distinguish most subtrees. */
function hashOfName(name: string): number {
  return (name.charCodeAt(0) << 16) ^ (name.charCodeAt(name.length - 1) << 8) ^ name.length
}

function mix(hash: number, other: number): number {
  const mixed = Math.imul(hash ^ other, 0x85ebca6b)
  return mixed ^ (mixed >>> 13)
}

/** The number of places that a value with a given hash can have. */
const WAYS = 4

/**
 * Values by their hashes. A value that was not found takes no place from one that was, until that one was not found for
 * a while. So values that occur once do not displace those that occur often: for these the table grows, up to a
 * greatest size.
 */
class InternTable<V> {
  readonly #maxSlots: number
  readonly #isGone: (value: V) => boolean
  values: (V | undefined)[]
  hashes: Int32Array
  /** 1 for a value that was found since another one last wanted its place. */
  isFound: Uint8Array
  /** How often values that were found gave up their places, since the table has its size. */
  #losses = 0

  /** Sizes are powers of two. `isGone` returns whether nothing can find a value any more. */
  constructor(slots: number, maxSlots: number, isGone: (value: V) => boolean = () => false) {
    this.#maxSlots = maxSlots
    this.#isGone = isGone
    this.values = new Array(slots)
    this.hashes = new Int32Array(slots)
    this.isFound = new Uint8Array(slots)
  }

  /** The first of the places for a hash. The others follow. */
  placeOf(hash: number): number {
    return ((hash ^ (hash >>> 15)) & (this.values.length / WAYS - 1)) * WAYS
  }

  add(hash: number, value: V): void {
    const slot = this.#freeSlot(this.placeOf(hash))
    this.#set(slot, value, hash, 0)
    if (this.#losses > this.values.length / 8 && this.values.length < this.#maxSlots) this.#grow()
  }

  /** An empty place, or that of a value that was not found since another one wanted its place. */
  #freeSlot(first: number): number {
    const last = first + WAYS - 1
    let free: number | undefined
    for (let slot = first; slot <= last; slot++) {
      if (this.values[slot] === undefined) return slot
      if (this.isFound[slot] === 0) free ??= slot
    }
    if (free !== undefined) {
      // The last place has the newest value, which gives up its place last.
      for (let slot = free; slot < last; slot++)
        this.#set(slot, this.values[slot + 1], this.hashes[slot + 1] ?? 0, this.isFound[slot + 1] ?? 0)
      return last
    }
    for (let slot = first; slot <= last; slot++) {
      const value = this.values[slot]
      if (value === undefined || this.#isGone(value)) return slot
      this.isFound[slot] = 0
    }
    this.#losses++
    return first
  }

  #set(slot: number, value: V | undefined, hash: number, isFound: number): void {
    this.values[slot] = value
    this.hashes[slot] = hash
    this.isFound[slot] = isFound
  }

  #grow(): void {
    const [values, hashes, isFound] = [this.values, this.hashes, this.isFound]
    const slots = values.length * 2
    this.values = new Array(slots)
    this.hashes = new Int32Array(slots)
    this.isFound = new Uint8Array(slots)
    this.#losses = 0
    for (let from = 0; from < values.length; from++) {
      const value = values[from]
      if (value === undefined) continue
      const hash = hashes[from] ?? 0
      // The values of the old places are divided among two groups of places, so that each group has room.
      let to = this.placeOf(hash)
      while (this.values[to] !== undefined) to++
      this.#set(to, value, hash, isFound[from] ?? 0)
    }
  }
}

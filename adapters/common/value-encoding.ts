type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** Values that nest deeper are refused. The store compares no deeper, either. */
const MAX_DEPTH = 500
/** Values that nest deeper are encoded, in order to find cycles. */
const FAST_DEPTH = 64

/** Node's `Buffer`; undefined in browsers, which receive a Buffer as a Uint8Array. */
const NodeBuffer: BufferConstructor | undefined = globalThis.Buffer

/** A value that cannot be saved, and its place within the object: "spec.run is a function". */
export class UnsavableValue extends Error {
  override readonly name: string = 'UnsavableValue'
}

/** Whether JSON returns an equal value. Most objects are such, and are saved without another copy. */
export function survivesJson(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
    case 'object':
      return value === null || (depth < FAST_DEPTH && membersSurviveJson(value, depth + 1))
    default:
      return false
  }
}

function membersSurviveJson(value: object, depth: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Array.isArray(value)) {
    if (prototype !== Array.prototype) return false
    for (let i = 0; i < value.length; i++) if (!survivesJson(value[i], depth)) return false
    return true
  }
  if (prototype !== Object.prototype) return false
  const members: Readonly<Record<string, unknown>> = Object(value)
  for (const name in members) if (!survivesJson(members[name], depth)) return false
  return Object.getOwnPropertySymbols(value).length === 0
}

/**
 * Encodes a value as JSON. Objects stay objects. An array begins with a tag, which names the type of the value.
 *
 * @throws UnsavableValue for a function, a symbol, an instance of an unknown class, and a cycle.
 */
export function encodeValue(value: unknown): Json {
  return encodeAt(value, [])
}

function encodeAt(value: unknown, path: string[]): Json {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value
    case 'number':
      return Number.isFinite(value) && !Object.is(value, -0)
        ? value
        : ['n', Object.is(value, -0) ? '-0' : String(value)]
    case 'bigint':
      return ['i', String(value)]
    case 'undefined':
      return ['u']
    case 'object':
      return value === null ? null : encodeObject(value, path)
    default:
      throw unsavable(path, `a ${typeof value}`)
  }
}

function encodeObject(value: object, path: string[]): Json {
  if (path.length >= MAX_DEPTH) {
    throw new UnsavableValue(`${show(path.slice(0, 5))}… contains itself, or nests deeper than ${MAX_DEPTH} levels`)
  }
  const each = (name: string, member: unknown): Json => {
    path.push(name)
    const encoded = encodeAt(member, path)
    path.pop()
    return encoded
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === Object.prototype) return encodeMembers(value, path, each)
  if (prototype === null) return ['o', encodeMembers(value, path, each)]
  if (Array.isArray(value) && prototype === Array.prototype) {
    return ['a', ...Array.from(value, (item: unknown, i) => (i in value ? each(String(i), item) : ['h']))]
  }
  if (value instanceof Date && prototype === Date.prototype) {
    return ['d', Number.isNaN(value.getTime()) ? null : value.getTime()]
  }
  if (value instanceof Uint8Array && prototype === NodeBuffer?.prototype) return ['B', base64(value)]
  if (value instanceof Uint8Array && prototype === Uint8Array.prototype) return ['b', base64(value)]
  if (value instanceof Map && prototype === Map.prototype) {
    return ['m', ...Array.from(value, ([key, item], i): Json => [each(`key ${i}`, key), each(`value ${i}`, item)])]
  }
  if (value instanceof Set && prototype === Set.prototype) {
    return ['s', ...Array.from(value, (item, i) => each(`item ${i}`, item))]
  }
  throw unsavable(path, `an instance of ${classOf(prototype)}`)
}

function encodeMembers(value: object, path: string[], each: (name: string, member: unknown) => Json): Json {
  if (Object.getOwnPropertySymbols(value).length > 0) throw unsavable(path, 'an object with a symbol as a name')
  // Without a prototype, "__proto__" is a name like any other.
  const encoded: Record<string, Json> = Object.create(null)
  for (const [name, member] of Object.entries(value)) encoded[name] = each(name, member)
  return encoded
}

/** Returns the value that was encoded. Throws for a text that `encodeValue` does not produce. */
export function decodeValue(encoded: unknown): unknown {
  if (typeof encoded !== 'object' || encoded === null) return encoded
  if (!Array.isArray(encoded)) return decodeMembers(encoded, {})
  const [tag, ...items]: readonly unknown[] = encoded
  const [first] = items
  switch (tag) {
    case 'a':
      return decodeArray(items)
    case 'u':
      return undefined
    case 'n':
      return Number(first)
    case 'i':
      return BigInt(String(first))
    case 'd':
      return new Date(typeof first === 'number' ? first : Number.NaN)
    case 'b':
      return bytesOf(String(first))
    case 'B':
      return NodeBuffer?.from(String(first), 'base64') ?? bytesOf(String(first))
    case 'm':
      return new Map(items.map((pair): [unknown, unknown] => decodePair(pair)))
    case 's':
      return new Set(items.map(decodeValue))
    case 'o':
      return decodeMembers(Object(first), Object.create(null))
    default:
      throw new SyntaxError('a value has an unknown tag')
  }
}

function decodeArray(items: readonly unknown[]): unknown[] {
  const array: unknown[] = []
  array.length = items.length
  for (const [i, item] of items.entries()) if (!isHole(item)) array[i] = decodeValue(item)
  return array
}

function isHole(item: unknown): boolean {
  return Array.isArray(item) && item[0] === 'h'
}

function decodePair(pair: unknown): [unknown, unknown] {
  if (!Array.isArray(pair)) throw new SyntaxError('an entry of a Map is incomplete')
  return [decodeValue(pair[0]), decodeValue(pair[1])]
}

function decodeMembers(encoded: object, target: object): object {
  for (const [name, member] of Object.entries(encoded)) {
    // An assignment to "__proto__" would change the prototype.
    Object.defineProperty(target, name, {
      value: decodeValue(member),
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
  return target
}

function base64(bytes: Uint8Array): string {
  if (NodeBuffer !== undefined)
    return NodeBuffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

function bytesOf(text: string): Uint8Array {
  if (NodeBuffer !== undefined) return new Uint8Array(NodeBuffer.from(text, 'base64'))
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
}

function unsavable(path: readonly string[], type: string): UnsavableValue {
  return new UnsavableValue(`${show(path)} is ${type}`)
}

function show(path: readonly string[]): string {
  return path.length === 0 ? 'the object' : path.join('.')
}

function classOf(prototype: unknown): string {
  const { name } = Object(Object(prototype).constructor)
  return typeof name === 'string' && name !== '' ? name : 'a class'
}

import type { Scalar } from '../src/store/indexes/scalar.js'
import { type JsonValue, jsonOf, jsonTextOf, visibleObject } from './object-json.js'

export interface ObjectField {
  /** The names that lead to it: `customer.name`. */
  readonly path: string
  /** What its values are, as far as they are known. Texts that are numbers count as numbers. */
  readonly type: 'number' | 'date' | 'text' | 'other'
  /** Whether it is one of the columns that a table of the objects should have at first. */
  readonly isColumn: boolean
}

const MAX_FIELDS = 200
const MAX_COLUMNS = 6
/** A deeper object is one field. */
const MAX_DEPTH = 4
/** Longer texts, on average, are not a column at first. */
const MAX_LENGTH = 48
const NUMBER = /^-?\d{1,15}(\.\d+)?$/
const ISO_DATE = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:?\d\d)$/
const UUID = /^[\da-f]{8}-?([\da-f]{4}-?){3}[\da-f]{12}$/i

/** Returns the value of a field; undefined if it has none. A name may contain dots, as labels of Kubernetes do. */
export function fieldAt(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  if (Object.hasOwn(value, path)) return Reflect.get(value, path)
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const name = path.slice(0, dot)
    const found = Object.hasOwn(value, name) ? fieldAt(Reflect.get(value, name), path.slice(dot + 1)) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Returns what an object is sorted by in the order of a field; undefined if it does not have the field. */
export function sortValueOf(object: unknown, path: string, showsSecrets: boolean): Scalar | undefined {
  try {
    const value = fieldAt(visibleObject(object, showsSecrets), path)
    if (value === null || value === undefined) return undefined
    if (typeof value === 'string') return textOrder(value)
    if (typeof value === 'object') return value instanceof Date ? value : jsonTextOf(value, true).slice(0, 200)
    return typeof value === 'function' || typeof value === 'symbol' ? undefined : (value as Scalar)
  } catch {
    return undefined // A getter throws.
  }
}

/** Texts that are numbers are in the order of numbers; others do not depend on their case. */
export function textOrder(text: string): Scalar {
  return NUMBER.test(text) ? Number(text) : text.toLowerCase()
}

interface Seen {
  readonly depth: number
  readonly types: Set<ObjectField['type']>
  readonly texts: Set<string>
  count: number
  length: number
  isInKey: boolean
}

/** Returns the fields of a sample, in the order in which the objects have them. */
export function fieldsOf(sample: Iterable<readonly [key: string, object: JsonValue]>): readonly ObjectField[] {
  const seen = new Map<string, Seen>()
  let size = 0
  for (const [key, object] of sample) {
    size++
    visit(key, object, '', 0, seen)
  }
  const isUseful = ([, { count, length, texts, types, isInKey }]: [string, Seen]): boolean =>
    !types.has('other') && !isInKey && count * 2 > size && length <= MAX_LENGTH * count && (size < 3 || texts.size > 1)
  const useful = [...seen].filter(isUseful).sort(([, a], [, b]) => a.depth - b.depth)
  const columns = new Set(useful.slice(0, MAX_COLUMNS).map(([path]) => path))
  return Array.from(seen, ([path, { types }]) => {
    const [type = 'other', ...others] = types
    return { path, type: others.length === 0 ? type : 'text', isColumn: columns.has(path) }
  })
}

function visit(key: string, value: JsonValue, path: string, depth: number, seen: Map<string, Seen>): void {
  if (typeof value === 'object' && value !== null && !Array.isArray(value) && depth < MAX_DEPTH) {
    for (const [name, each] of Object.entries(value))
      visit(key, each, path === '' ? name : `${path}.${name}`, depth + 1, seen)
    return
  }
  if (value === null || (path === '' && depth === 0)) return
  const text = typeof value === 'object' ? '' : String(value)
  const known = seen.get(path)
  if (known === undefined && seen.size >= MAX_FIELDS) return
  const field = known ?? { depth, types: new Set(), texts: new Set(), count: 0, length: 0, isInKey: true }
  seen.set(path, field)
  field.types.add(typeOf(value))
  field.texts.add(text)
  field.count++
  field.length += text.length
  if (!key.includes(text)) field.isInKey = false
}

function typeOf(value: JsonValue): ObjectField['type'] {
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'text'
  if (typeof value !== 'string' || UUID.test(value)) return 'other'
  return NUMBER.test(value) ? 'number' : ISO_DATE.test(value) ? 'date' : 'text'
}

/** Returns the value of a field for a table: scalars and short texts as they are, others as a text in one line. */
export function cellOf(object: unknown, path: string, showsSecrets: boolean): JsonValue | undefined {
  try {
    const value = fieldAt(visibleObject(object, showsSecrets), path)
    return value === undefined ? undefined : shortened(jsonOf(value, true))
  } catch {
    return undefined
  }
}

const MAX_TEXT = 200

export function shortened(value: JsonValue): JsonValue {
  const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : value
  return typeof text === 'string' && text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}

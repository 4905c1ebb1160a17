import { messageOf } from '../src/contract/errors.js'

const MAX_DEPTH = 64
const HIDDEN = '(hidden)'
/** Annotations in which Kubernetes tools store a copy of the object. */
const COPIES = /last-applied-configuration$/

type Fields = Readonly<Record<string, unknown>>

/** A value of JSON that shows an object. Bigints, dates and other values without a form in JSON become texts. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | { readonly [name: string]: JsonValue }

/**
 * Returns an object as JSON. The values of a Kubernetes Secret are hidden unless `showsSecrets`. It never throws: an
 * object that cannot be read, for example because a getter throws, becomes a text.
 */
export function jsonOf(object: unknown, showsSecrets: boolean): JsonValue {
  try {
    return convert(visibleObject(object, showsSecrets), 0, [])
  } catch (error) {
    return `(cannot be shown: ${messageOf(error)})`
  }
}

export function jsonTextOf(object: unknown, showsSecrets: boolean): string {
  try {
    if (showsSecrets || !isSecret(object)) return JSON.stringify(object) ?? ''
  } catch {} // A bigint, or a circular object.
  return JSON.stringify(jsonOf(object, showsSecrets))
}

/** Returns the object; of a Kubernetes Secret a copy without its values, unless `showsSecrets`. */
export function visibleObject(object: unknown, showsSecrets: boolean): unknown {
  return !showsSecrets && isSecret(object) ? withoutData(object) : object
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

/** Items of a list have no `kind`. Of the objects of Kubernetes, only a Secret has `data` and a `type`. */
function isSecret(object: unknown): object is Fields {
  if (!isFields(object)) return false
  const { kind, metadata, type, data, stringData } = object
  if (kind === 'Secret' || isFields(stringData)) return true
  return kind === undefined && isFields(metadata) && typeof type === 'string' && isFields(data)
}

function withoutData(secret: Fields): Fields {
  const hide = (fields: unknown): unknown =>
    isFields(fields) ? Object.fromEntries(Object.keys(fields).map((name) => [name, HIDDEN])) : HIDDEN
  const metadata = isFields(secret['metadata']) ? secret['metadata'] : {}
  const annotations = isFields(metadata['annotations']) ? Object.entries(metadata['annotations']) : []
  return {
    ...secret,
    ...('data' in secret ? { data: hide(secret['data']) } : {}),
    ...('stringData' in secret ? { stringData: hide(secret['stringData']) } : {}),
    metadata: {
      ...metadata,
      annotations: Object.fromEntries(annotations.map(([name, value]) => [name, COPIES.test(name) ? HIDDEN : value])),
    },
  }
}

function convert(value: unknown, depth: number, above: readonly object[]): JsonValue {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value !== 'object') return typeof value === 'bigint' ? String(value) : `(${typeof value})`
  if (above.includes(value)) return '(circular)'
  if (depth >= MAX_DEPTH) return '(deeper levels are left out)'
  const within = [...above, value]
  const part = (each: unknown): JsonValue => convert(each, depth + 1, within)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'Invalid Date' : value.toISOString()
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`
  if (value instanceof Map) return Array.from(value, ([key, each]) => [part(key), part(each)])
  if (value instanceof Set) return Array.from(value, part)
  if (Array.isArray(value)) return value.map(part)
  const fields: [string, JsonValue][] = []
  for (const [name, each] of Object.entries(value)) if (each !== undefined) fields.push([name, part(each)])
  return Object.fromEntries(fields)
}

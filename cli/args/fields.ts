import { structuralEqual } from '../../src/store/structural-equal.js'
import { membersOf } from '../../src/util/type-guards.js'

const MAX_CHANGES = 20
const MAX_VALUE = 120

/** The field of an object by its name, or by a path with dots. A name may contain dots, as labels of Kubernetes do. */
export function fieldOf(object: unknown, path: string): unknown {
  const whole = membersOf(object)
  if (path in whole) return whole[path]
  for (let dot = path.indexOf('.'); dot !== -1; dot = path.indexOf('.', dot + 1)) {
    const found = fieldOf(whole[path.slice(0, dot)], path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}

export function listIn(object: unknown, path: string): readonly unknown[] {
  const list = fieldOf(object, path)
  return Array.isArray(list) ? list : []
}

/** The paths of the innermost fields that differ between two objects. An array is one field. */
export function changedFields(before: unknown, after: unknown): string[] {
  const paths: string[] = []
  const compare = (a: unknown, b: unknown, path: string): void => {
    if (paths.length >= MAX_CHANGES || structuralEqual(a, b)) return
    if (!isPlain(a) || !isPlain(b)) {
      paths.push(path)
      return
    }
    for (const name of new Set([...Object.keys(a), ...Object.keys(b)]))
      compare(a[name], b[name], path === '' ? name : `${path}.${name}`)
  }
  compare(before, after, '')
  return paths
}

export function shownValue(value: unknown): string {
  const text = quotedText(value)
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE - 1)}…`
}

function quotedText(value: unknown): string {
  if (value === undefined) return '–'
  return typeof value === 'string' && !/^\S+$/.test(value) ? JSON.stringify(value) : textOf(value)
}

/** A value as text. A string has no quotes. */
export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  if (ArrayBuffer.isView(value)) return `(${value.byteLength} bytes)`
  if (value instanceof Date) return String(printable.call({ value }, 'value', value.toJSON()))
  return JSON.stringify(value, printable) ?? String(value)
}

const CONTROLS = /[\x7f-\x9f]/g

/** A value as one line of JSON, without characters that a terminal would obey. */
export function jsonText(value: unknown): string {
  const escaped = (control: string): string => `\\u00${control.charCodeAt(0).toString(16)}`
  return JSON.stringify(value, printable).replace(CONTROLS, escaped)
}

/** A replacer for JSON.stringify: bigints, and numbers and dates without a form in JSON, as strings; bytes as base64. */
export function printable(this: unknown, name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  // JSON.stringify has called toJSON of a date or a Buffer before.
  const given = membersOf(this)[name]
  if (ArrayBuffer.isView(given)) return Buffer.from(given.buffer, given.byteOffset, given.byteLength).toString('base64')
  return value === null && given instanceof Date ? 'Invalid Date' : value
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

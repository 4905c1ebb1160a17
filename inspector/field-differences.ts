import type { JsonValue } from './object-json.js'

/** A field that differs between two states of an object. A missing value means that the field is absent. */
export interface FieldDifference {
  /** The names and array indexes that lead to the field. */
  readonly path: readonly string[]
  readonly before?: JsonValue
  readonly after?: JsonValue
}

const MAX_DIFFERENCES = 100

export function fieldDifferences(before: JsonValue, after: JsonValue): readonly FieldDifference[] {
  const found: FieldDifference[] = []
  compare(before, after, [], found)
  return found
}

function compare(before: JsonValue, after: JsonValue, path: readonly string[], found: FieldDifference[]): void {
  if (found.length >= MAX_DIFFERENCES || before === after) return
  const [left, right] = [fieldsOf(before), fieldsOf(after)]
  if (left === undefined || right === undefined || Array.isArray(before) !== Array.isArray(after)) {
    found.push({ path, before, after })
    return
  }
  for (const name of new Set([...left.keys(), ...right.keys()])) {
    const [was, is] = [left.get(name), right.get(name)]
    const at = [...path, name]
    if (found.length >= MAX_DIFFERENCES) return
    if (was === undefined) found.push(is === undefined ? { path: at } : { path: at, after: is })
    else if (is === undefined) found.push({ path: at, before: was })
    else compare(was, is, at, found)
  }
}

function fieldsOf(value: JsonValue): ReadonlyMap<string, JsonValue> | undefined {
  return typeof value === 'object' && value !== null ? new Map(Object.entries(value)) : undefined
}

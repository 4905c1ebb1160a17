import { isSameJson, type Json, jsonOf } from './fake-object.js'
import { Refusal } from './fake-status.js'

/** The fields of an object by path, as `["data","a"]`. An array is one field. */
type Fields = ReadonlyMap<string, unknown>

/** Fields that no manager owns. */
const UNOWNED = new Set(
  ['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'managedFields'].map((name) =>
    JSON.stringify(['metadata', name]),
  ),
)

/** The managers of the fields of one object: server-side apply, with each array as one field. */
export class FieldOwners {
  /** The managers of each path. */
  readonly #owners = new Map<string, Set<string>>()

  /**
   * Returns the object with the fields of `applied`, and without those that the manager applied before. Throws a 409
   * that names the other managers of changed fields, unless `isForced`.
   */
  apply(object: Json, applied: Json, { manager, isForced }: { manager: string; isForced: boolean }): Json {
    const wanted = fieldsOf(applied)
    const before = fieldsOf(object)
    const causes: { readonly reason: string; readonly message: string; readonly field: string }[] = []
    for (const [path, value] of wanted) {
      if (!before.has(path) || isSameJson(before.get(path), value)) continue
      for (const other of this.#owners.get(path) ?? []) {
        if (other === manager) continue
        const message = `conflict with ${JSON.stringify(other)}`
        causes.push({ reason: 'FieldManagerConflict', message, field: nameOf(path) })
      }
    }
    if (causes.length > 0 && !isForced) {
      causes.sort((a, b) => (a.field < b.field ? -1 : 1))
      const message = `Apply failed with ${causes.length} conflicts`
      throw new Refusal(409, 'Conflict', message, { causes })
    }
    const result: Record<string, unknown> = structuredClone(object)
    for (const [path, managers] of this.#owners) {
      if (wanted.has(path) || !managers.delete(manager) || managers.size > 0) continue
      this.#owners.delete(path)
      setAt(result, path, undefined)
    }
    for (const [path, value] of wanted) {
      const isChanged = !isSameJson(before.get(path), value)
      const managers = isChanged ? new Set<string>() : (this.#owners.get(path) ?? new Set())
      this.#owners.set(path, managers.add(manager))
      setAt(result, path, value)
    }
    return result
  }

  /** Another write makes the manager the owner of the fields that it changed. */
  write(before: Json, after: Json, manager: string): void {
    const [old, changed] = [fieldsOf(before), fieldsOf(after)]
    for (const path of old.keys()) if (!changed.has(path)) this.#owners.delete(path)
    for (const [path, value] of changed)
      if (!old.has(path) || !isSameJson(old.get(path), value)) this.#owners.set(path, new Set([manager]))
  }
}

function fieldsOf(object: Json): Fields {
  const fields = new Map<string, unknown>()
  const visit = (value: unknown, path: readonly string[]): void => {
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
    if (isMap && (path.length === 0 || Object.keys(value).length > 0))
      for (const [name, each] of Object.entries(value)) visit(each, [...path, name])
    else if (!UNOWNED.has(JSON.stringify(path))) fields.set(JSON.stringify(path), value)
  }
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object
  visit(rest, [])
  return fields
}

function setAt(object: Record<string, unknown>, path: string, value: unknown): void {
  const names: string[] = JSON.parse(path)
  let parent: Record<string, unknown> = object
  for (const name of names.slice(0, -1)) {
    const child = { ...jsonOf(parent[name]) }
    parent[name] = child
    parent = child
  }
  const last = names.at(-1) ?? ''
  const isEmptyMap = isSameJson(value, {})
  if (value === undefined) delete parent[last]
  else if (!isEmptyMap || parent[last] === undefined) parent[last] = value
}

function nameOf(path: string): string {
  return (JSON.parse(path) as string[]).map((name) => `.${name}`).join('')
}

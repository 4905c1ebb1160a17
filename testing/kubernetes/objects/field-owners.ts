import { isSameJson, type Json } from './fake-object.js'
import { childrenOf, isNamed, joined, type Path } from './fields.js'

/** Paths of fields, each as JSON. As in Kubernetes, maps and elements of lists are fields too. */
type Fields = ReadonlySet<string>

/** The field managers of one object, and their fields. A manager is an operation, a name and a subresource, as JSON. */
export type FieldOwners = ReadonlyMap<string, Fields>

/** A write of a field manager to an object. */
export interface Writer {
  readonly manager: string
  readonly subresource?: string | undefined
  readonly isCustom: boolean
}

/** A field of another manager that server-side apply would change. */
export interface FieldConflict {
  readonly manager: string
  readonly subresource: string | undefined
  readonly isApplied: boolean
  readonly field: string
}

interface Comparison {
  readonly removed: Set<string>
  /** Added and modified fields. */
  readonly changed: Set<string>
}

/** Fields that no manager owns. */
const UNOWNED: Fields = new Set(
  [
    ['apiVersion'],
    ['kind'],
    ['metadata'],
    ...['name', 'namespace', 'creationTimestamp', 'uid', 'generation', 'managedFields', 'resourceVersion'].map(
      (name) => ['metadata', name],
    ),
  ].map((path) => JSON.stringify(path)),
)

const idOf = (operation: string, { manager, subresource = '' }: Writer): string =>
  JSON.stringify([operation, manager, subresource])

/** The owners after a write that is not an apply. */
export function updatedOwners(owners: FieldOwners, before: Json, after: Json, writer: Writer): FieldOwners {
  // As in Kubernetes: an object that nothing owns has no owners until the next apply.
  if (owners.size === 0 && Object.keys(before).length > 0) return owners
  const compared = compare(before, after, writer)
  const next = new Map(withoutChanged(owners, compared))
  const id = idOf('Update', writer)
  const own = union(next.get(id) ?? new Set(), minus(compared.changed, UNOWNED))
  if (own.size > 0) next.set(id, own)
  return next
}

/**
 * Server-side apply: the object with the fields of `config`, and without those that only the manager owned before.
 * `conflicts` are changes of fields of other managers.
 */
export function applied(
  known: FieldOwners,
  before: Json,
  config: Json,
  writer: Writer,
): { readonly object: Json; readonly owners: FieldOwners; readonly conflicts: readonly FieldConflict[] } {
  const isUntracked = known.size === 0 && Object.keys(before).length > 0
  const owners = isUntracked ? updatedOwners(known, {}, before, { ...writer, manager: 'before-first-apply' }) : known
  const id = idOf('Apply', writer)
  const own = kept(fieldsOf(config, writer.isCustom), writer)
  const claimed = new Map(owners).set(id, own)
  const object = pruned(joined(before, config), claimed, owners.get(id), writer.isCustom)
  const compared = compare(before, object, writer)
  const others = new Map(claimed)
  others.delete(id)
  const conflicts = [...others].flatMap(([other, fields]) => {
    const [operation, manager = '', subresource] = JSON.parse(other) as string[]
    const common = intersection(fields, compared.changed)
    return [...common].map((path) => ({
      manager,
      subresource: subresource === '' ? undefined : subresource,
      isApplied: operation === 'Apply',
      field: (JSON.parse(path) as Path).map((name) => (name.startsWith('[') ? name : `.${name}`)).join(''),
    }))
  })
  const next = new Map(withoutChanged(others, compared))
  const rest = minus(own, UNOWNED)
  if (rest.size > 0) next.set(id, rest)
  return { object, owners: next, conflicts }
}

export function isSameOwners(a: FieldOwners, b: FieldOwners): boolean {
  const plain = (owners: FieldOwners): object =>
    Object.fromEntries([...owners].map(([id, fields]) => [id, [...fields].sort()]))
  return isSameJson(plain(a), plain(b))
}

function withoutChanged(owners: FieldOwners, { removed, changed }: Comparison): FieldOwners {
  const left = [...owners].map(([id, fields]) => [id, minus(minus(fields, changed), removed)] as const)
  return new Map(left.filter(([, fields]) => fields.size > 0))
}

/** Without the fields that this endpoint does not write. */
function kept(fields: Fields, { subresource }: Writer): Fields {
  const isMeant = (path: string): boolean => path.startsWith('["status"') === (subresource === 'status')
  return new Set([...fields].filter(isMeant))
}

/** All fields of an object. As in Kubernetes, a map that its schema names is a field only if it is empty. */
function fieldsOf(object: unknown, isCustom: boolean): Fields {
  const fields = new Set<string>()
  const visit = (value: unknown, path: Path): void => {
    const children = childrenOf(value, path)
    if (children === undefined) fields.add(JSON.stringify(path))
    for (const [name, child] of children ?? []) {
      const at = [...path, name]
      visit(child, at)
      const isEmptyMap = !Array.isArray(child) && childrenOf(child, at)?.size === 0
      if (isEmptyMap || !isNamed(at, isCustom)) fields.add(JSON.stringify(at))
    }
  }
  visit(object, [])
  return fields
}

function compare(before: Json, after: Json, writer: Writer): Comparison {
  const removed = new Set<string>()
  const changed = new Set<string>()
  const visit = (a: unknown, b: unknown, path: Path): void => {
    const [old, next] = [childrenOf(a, path), childrenOf(b, path)]
    const names = new Set([...(old?.keys() ?? []), ...(next?.keys() ?? [])])
    for (const name of names) visit(old?.get(name), next?.get(name), [...path, name])
    if (path.length === 0) return
    // Null is a map without fields beside a map that has some.
    const isNull = (a === null && (next?.size ?? 0) > 0) || (b === null && (old?.size ?? 0) > 0)
    const isLeaf = (old === undefined || next === undefined) && !isNull
    if (b === undefined) removed.add(JSON.stringify(path))
    else if (a === undefined || (isLeaf && !isSameJson(a, b))) changed.add(JSON.stringify(path))
  }
  visit(before, after, [])
  return { removed: new Set(kept(removed, writer)), changed: new Set(kept(changed, writer)) }
}

/** `prune` of structured-merge-diff: without the fields of `last` that are not owned any more. */
function pruned(merged: Json, owners: FieldOwners, last: Fields | undefined, isCustom: boolean): Json {
  if (last === undefined || last.size === 0) return merged
  const all = withNamed(fieldsOf(merged, isCustom), isCustom)
  const given = withNamed(last, isCustom)
  const managed = withNamed(new Set([...owners.values()].flatMap((fields) => [...fields])), isCustom)
  const left = (object: unknown): Fields => withNamed(fieldsOf(object, isCustom), isCustom)
  const owned = without(merged, minus(all, union(left(without(merged, given)), managed)))
  return without(merged, intersection(minus(all, left(owned)), given)) as Json
}

/** With the maps above each field that a schema names. */
function withNamed(fields: Fields, isCustom: boolean): Fields {
  const above = [...fields].flatMap((field) => {
    const path = JSON.parse(field) as Path
    return path.map((_name, at) => path.slice(0, at)).filter((each) => each.length > 0 && isNamed(each, isCustom))
  })
  return union(fields, new Set(above.map((path) => JSON.stringify(path))))
}

/** As in Kubernetes, a map or list that has lost all its fields is null. */
function without(object: unknown, fields: Fields): unknown {
  const visit = (value: unknown, path: Path): unknown => {
    const prefix = path.length === 0 ? '[' : `${JSON.stringify(path).slice(0, -1)},`
    const children = childrenOf(value, path)
    if (children === undefined || ![...fields].some((field) => field.startsWith(prefix))) return value
    const left = [...children].filter(([name]) => !fields.has(JSON.stringify([...path, name])))
    if (left.length === 0) return null
    const visited = left.map(([name, child]) => [name, visit(child, [...path, name])] as const)
    return Array.isArray(value) ? visited.map(([, child]) => child) : Object.fromEntries(visited)
  }
  return visit(object, [])
}

const union = (a: Fields, b: Fields): Fields => new Set([...a, ...b])
const minus = (a: Fields, b: Fields): Fields => new Set([...a].filter((each) => !b.has(each)))
const intersection = (a: Fields, b: Fields): Fields => new Set([...a].filter((each) => b.has(each)))

import { type Json, jsonOf } from './fake-object.js'

/** The names of fields, from the outermost to the innermost. An element of a list is `[="name"]` or `[uid="id"]`. */
export type Path = readonly string[]

/** Maps of built-in kinds. Other objects of these kinds are structures, whose fields a schema names. */
const MAPS: ReadonlySet<string> = new Set(
  'annotations binaryData data labels limits matchLabels nodeSelector requests selector stringData'.split(' '),
)

/** Whether the schema names the field, as it does not for entries of a map. */
export function isNamed(path: Path, isCustom: boolean): boolean {
  const [first = '', ...rest] = path
  if (isCustom && first !== 'metadata') return rest.length === 0 && ['apiVersion', 'kind'].includes(first)
  const last = path.at(-1) ?? ''
  return !last.startsWith('[') && !MAPS.has(path.at(-2) ?? '')
}

/** The fields of a map, or of a list whose elements are fields; undefined for one field. */
export function childrenOf(value: unknown, path: Path): ReadonlyMap<string, unknown> | undefined {
  if (Array.isArray(value)) {
    const items = value.map((item) => [itemName(path, item) ?? '', item] as const)
    return itemName(path, undefined) === undefined ? undefined : new Map(items)
  }
  const isElement = path.at(-1)?.startsWith('[') ?? false
  return typeof value === 'object' && value !== null && !isElement ? new Map(Object.entries(value)) : undefined
}

/** Elements of these lists are fields; other lists are one field each. */
function itemName(path: Path, item: unknown): string | undefined {
  if (path.length !== 2 || path[0] !== 'metadata') return undefined
  if (path[1] === 'finalizers') return `[=${JSON.stringify(item)}]`
  return path[1] === 'ownerReferences' ? `[uid=${JSON.stringify(jsonOf(item)['uid'])}]` : undefined
}

/** The fields of both; those of `next` win. */
export function joined(object: Json, next: Json): Json {
  const visit = (a: unknown, b: unknown, path: Path): unknown => {
    if (b === undefined) return a
    const [old, own] = [childrenOf(a, path), childrenOf(b, path)]
    if (own === undefined) return b
    if (Array.isArray(b)) return [...joinedItems(old ?? new Map(), own).values()]
    if (own.size === 0) return old === undefined ? b : a
    const both = [...own].map(([name, each]) => [name, visit(old?.get(name), each, [...path, name])])
    return { ...(old === undefined ? {} : Object.fromEntries(old)), ...Object.fromEntries(both) }
  }
  return visit(object, next, []) as Json
}

/** The elements of both lists. Common ones are in the order of `next`. */
function joinedItems(old: ReadonlyMap<string, unknown>, next: ReadonlyMap<string, unknown>): Map<string, unknown> {
  const result = new Map<string, unknown>()
  const left = [...next]
  const common = left.map(([name]) => name).filter((name) => old.has(name))
  for (const [name, item] of old) {
    if (!next.has(name)) result.set(name, item)
    if (name !== common[0]) continue
    common.shift()
    for (const [each, value] of left.splice(0, left.findIndex(([other]) => other === name) + 1)) result.set(each, value)
  }
  return new Map([...result, ...left])
}

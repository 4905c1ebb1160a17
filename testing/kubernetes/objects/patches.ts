import { badRequest, invalid } from '../fake-status.js'
import { isSameJson, type Json, jsonOf } from './fake-object.js'
import { childrenOf } from './fields.js'

/** RFC 7396. */
export function mergePatch(object: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const merged: Record<string, unknown> = { ...jsonOf(object) }
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = mergePatch(merged[name], value)
  }
  return merged
}

/** A merge patch that merges finalizers and owners. Other lists are replaced, and there is no `$patch`. */
export function strategicMergePatch(object: Json, patch: unknown): Json {
  const merged = jsonOf(mergePatch(object, patch))
  const [old, added] = [object, jsonOf(patch)].map((each) => jsonOf(each['metadata']))
  const lists = ['finalizers', 'ownerReferences'].flatMap((name) => {
    const [before, next] = [old?.[name], added?.[name]].map((list) => childrenOf(list, ['metadata', name]))
    return before === undefined || next === undefined ? [] : [[name, mergedLists(before, next)]]
  })
  return lists.length === 0
    ? merged
    : { ...merged, metadata: { ...jsonOf(merged['metadata']), ...Object.fromEntries(lists) } }
}

/** Elements of the patch first, unless those of the object were before them. */
function mergedLists(old: ReadonlyMap<string, unknown>, added: ReadonlyMap<string, unknown>): readonly unknown[] {
  const order = [...old.keys()]
  const left = order.filter((name) => !added.has(name))
  const names = [...added.keys()].flatMap((name) => {
    const isBefore = (other: string): boolean => order.indexOf(other) < order.indexOf(name)
    return [...left.splice(0, left.filter(isBefore).length), name]
  })
  return [...names, ...left].map((name) =>
    added.has(name) ? mergePatch(old.get(name), added.get(name)) : old.get(name),
  )
}

/** RFC 6902: `test`, `add`, `replace` and `remove`. */
export function jsonPatch(object: Json, operations: unknown): Json {
  if (!Array.isArray(operations)) throw badRequest('a JSON patch must be an array')
  const patched: Record<string, unknown> = structuredClone(object)
  for (const operation of operations) {
    const { op, path, value } = jsonOf(operation)
    if (typeof path !== 'string' || !path.startsWith('/')) throw badRequest('a path must begin with /')
    const names = path
      .slice(1)
      .split('/')
      .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    applyOperation(patched, names, String(op), value)
  }
  return patched
}

function applyOperation(object: Json, names: readonly string[], op: string, value: unknown): void {
  let parent: unknown = object
  for (const name of names.slice(0, -1)) parent = Object(parent)[name]
  const path = names.join('/')
  if (typeof parent !== 'object' || parent === null) throw invalid(`the path ${path} does not exist`)
  const container: Record<string, unknown> | unknown[] = Object(parent)
  const name = names.at(-1) ?? ''
  const at = Array.isArray(container) && name === '-' ? container.length : name
  const current: unknown = Object(container)[at]
  if (op === 'test') {
    if (!isSameJson(current ?? null, value ?? null)) throw invalid(`the test of ${path} failed`)
    return
  }
  if (op === 'add' && Array.isArray(container)) container.splice(Number(at), 0, value)
  else if (op === 'add' || (op === 'replace' && (current !== undefined || !Array.isArray(container))))
    Object.assign(container, { [at]: value })
  else if (op !== 'remove' && op !== 'replace') throw badRequest(`the operation ${op} is not supported`)
  else if (current === undefined) throw invalid(`the path ${path} does not exist`)
  else if (Array.isArray(container)) container.splice(Number(at), 1)
  else delete container[at]
}

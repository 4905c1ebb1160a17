import { OptionError } from '../contract/errors.js'
import { SourceInformer } from '../informer/informer.js'
import { InformerContext } from '../informer/informer-context.js'
import { InformerCore } from '../informer/informer-core.js'
import type { Informer } from '../informer/informer-types.js'
import { type Internals, internalsOf } from '../informer/internals.js'
import { informers } from '../informer/observation/registry.js'
import { AUDIT_PERIOD_MS } from '../informer/sources/audit.js'
import { checkAudit, isAuditOption } from '../informer/sources/source-options.js'
import { haveSeveralRoots } from '../informer/sources/view-inputs.js'
import { isDevelopment } from '../store/deep-freeze.js'
import {
  checkOptions,
  isAny,
  isFunction,
  isListOf,
  isName,
  isOneOf,
  type OptionCheck,
} from '../util/validate-options.js'
import { EdgeTable } from './edge-table.js'
import type { Summands } from './group-sums.js'
import { RecordedReads, refusedReads } from './recorded-reads.js'
import { type OtherStore, type ReadInput, type Results, View } from './view.js'
import type { DeriveManyOptions, DeriveOptions, GroupByOptions, ViewOptions } from './view-options.js'
import { GroupRows, ObjectRows, singleRow, type ViewRows } from './view-rows.js'
import { ViewSource } from './view-source.js'

/**
 * Creates a view: an informer whose objects are computed from those of other informers, one result for each object of
 * `from`, under its key. `each` is called again when its object, or something that it has read, changes. A commit of an
 * input, and the changes of all views that follow from it, become visible in one step.
 *
 * @returns The view, which is idle until `start`. It starts no other informer.
 * @throws OptionError for a wrong option; for an informer that is not of this library, or was stopped.
 *
 * @example
 * ```ts
 * import { derive } from 'listwatch'
 *
 * const billed = derive({
 *   from: orders,
 *   reads: [pods],
 *   each: (order) => (order.paid ? { total: order.total, pods: pods.by.node.count(order.region ?? '') } : undefined),
 *   indexes: (ix) => ({ total: ix.ordered((row) => row.total) }),
 * })
 * await groupInformers([orders, pods, billed]).start().synced()
 * console.log(billed.by.total({ reverse: true, limit: 3 }))
 * ```
 */
export function derive<T, R, I extends object = {}>(options: DeriveOptions<T, R, I>): Informer<R, I> {
  return viewOf('derive', 'one', options)
}

/**
 * Creates a view with any number of results for each object. A result has the key `<key of the object>/<name>`, in which
 * `/` and `\` of either part have a backslash before them. Without `from` the function is called once, and its names are the
 * keys.
 *
 * @returns The view, which is idle until `start`.
 * @throws OptionError for a wrong option; for an informer that is not of this library, or was stopped.
 *
 * @example
 * ```ts
 * import { deriveMany } from 'listwatch'
 *
 * const tags = deriveMany({ from: orders, each: (order) => order.tags.map((tag) => [tag, { tag }] as const) })
 * const largest = deriveMany({ reads: [orders], each: () => orders.by.total.entriesIn({ reverse: true, limit: 20 }) })
 * ```
 */
export function deriveMany<T, R, I extends object = {}>(options: DeriveManyOptions<T, R, I>): Informer<R, I> {
  return viewOf('deriveMany', options.from === undefined ? 'named' : 'many', options)
}

/**
 * Creates a view with one result for each value of an index. The key is the text of the value; of a tuple, its texts
 * joined as keys of `deriveMany` are. If two values have one text, such as `1` and `'1'`, that key is invalid.
 *
 * @returns The view, which is idle until `start`.
 * @throws OptionError for a wrong option; for an index or an informer that is not of this library, or was stopped.
 *
 * @example
 * ```ts
 * import { groupBy } from 'listwatch'
 *
 * const tenants = groupBy({
 *   index: orders.by.tenant,
 *   sums: { total: (order) => order.total },
 *   each: (tenant, { count, total }) => ({ tenant, count, total, last: orders.by.latest([tenant], { reverse: true })[0] }),
 * })
 * ```
 */
export function groupBy<T, V, R, I extends object = {}, S extends string = never>(
  options: GroupByOptions<T, V, R, I, S>,
): Informer<R, I> {
  return viewOf('groupBy', 'one', options)
}

interface AnyOptions<R, I extends object> extends ViewOptions<R, I> {
  readonly from?: object
  readonly index?: object
  readonly sums?: Readonly<Record<string, unknown>>
  readonly each: (...args: never[]) => unknown
}

function viewOf<R, I extends object>(call: string, results: Results, options: AnyOptions<R, I>): Informer<R, I> {
  const isGroup = call === 'groupBy'
  checkOptions(call, options, {
    ...(isGroup ? { index: isAny, sums: areFunctions } : { from: isAny }),
    each: isFunction,
    reads: isListOf('informers', (value) => flawIn(value) === undefined),
    name: isName,
    equals: isFunction,
    onInvalid: isOneOf('omit', 'keep-previous'),
    indexes: isFunction,
    audit: isAuditOption,
  })
  checkAudit(call, options.audit)
  const auditMs = options.audit === false ? Infinity : (options.audit?.periodMs ?? AUDIT_PERIOD_MS)
  const { from, index, sums, each, reads = [] } = options
  if (typeof each !== 'function') throw new OptionError(`${call}: option "each" is missing`, { option: 'each' })
  const origin = isGroup ? 'index' : 'from'
  const rowsFrom = isGroup ? index : from
  if (results !== 'named') {
    const flaw = flawIn(rowsFrom)
    if (flaw !== undefined) throw new OptionError(`${call}: option "${origin}" ${flaw}`, { option: origin })
  }
  const all = [rowsFrom, ...reads].flatMap((each) => (each === undefined ? [] : (internalsOf(each) ?? [])))
  if (all.length === 0) throw new OptionError(`${call}: option "reads" must name an informer`, { option: 'reads' })
  const members = [...new Map(all.map((its) => [its.input, its])).values()]
  const [first] = members
  const name = options.name ?? `${call} ${isGroup ? 'by' : 'from'} ${first?.input.name ?? ''}`
  const edges = new EdgeTable(members.length)
  const inputs = members.map((its, at) => inputOf(its, name, edges, at + 1))
  const [rowInput] = inputs
  if (first === undefined || rowInput === undefined) throw new Error('a view has an input')
  const rows = rowsOf(call, results, rowInput, index, each, sums)
  const { clock, random, router } = first.input.context
  const isNumbered = haveSeveralRoots(members)
  const freeze = inputs.every(({ writer }) => writer.hooks.freeze === true)
  const { equals, onInvalid, indexes } = options
  const declared = { ...(equals && { equals }), ...(onInvalid && { onInvalid }), ...(indexes && { indexes }) }
  const shared = { clock, random, slices: router.slices, freeze }
  const context = new InformerContext<R, I>({ ...declared, ...shared }, undefined, { isNumbered, hasVersions: false })
  const view = new View<R>(
    {
      name,
      results,
      inputs,
      rows,
      edges,
      hasVersion: !isNumbered,
      // Not in each commit: a read of the environment takes long.
      others: isDevelopment() ? () => otherStores(inputs, name) : () => [],
      failed: (error) => source.fail(error),
    },
    context,
  )
  const source: ViewSource<R> = new ViewSource<R>(
    name,
    { inputs: members, view, auditMs },
    () => context.indexer.version,
  )
  const core = new InformerCore<unknown, R>(context, source, NO_SOURCE_OPTIONS, name, source)
  return new SourceInformer<unknown, I, R>(context, core)
}

const NO_SOURCE_OPTIONS = { audit: false, cache: undefined, fingerprint: '' } as const

const areFunctions: OptionCheck = (value) => {
  const isMap = typeof value === 'object' && value !== null && !Array.isArray(value)
  if (!isMap || Object.values(value).some((each) => typeof each !== 'function')) return 'must have functions'
  return 'count' in value ? 'must not have "count", which the group has' : undefined
}

function flawIn(value: unknown): string | undefined {
  const isOwner = typeof value === 'function' || (typeof value === 'object' && value !== null)
  const its = isOwner ? internalsOf(value) : undefined
  if (its === undefined) return 'must be of an informer of this library'
  return its.input.context.stopped.aborted ? 'is of an informer that was stopped' : undefined
}

function inputOf({ input }: Internals, view: string, edges: EdgeTable, number: number): ReadInput {
  const { writer } = input.context.indexer
  const refuse = (call: string): never => {
    const what = `the function of the view "${view}" may not use "${call}" of the informer "${input.name}"`
    const why = 'it would depend on all objects; get, has and reads of indexes are allowed'
    throw new OptionError(`${what}: ${why}`, { option: 'each' })
  }
  return { input, writer, reads: new RecordedReads<unknown>(writer, edges, number, refuse) }
}

function rowsOf(
  call: string,
  results: Results,
  { writer, reads }: ReadInput,
  index: object | undefined,
  each: (...args: never[]) => unknown,
  sums: Readonly<Record<string, unknown>> = {},
): ViewRows {
  const run = each as (...args: unknown[]) => unknown
  if (results === 'named') return singleRow(run)
  if (index === undefined) return new ObjectRows<unknown>(writer, run)
  const declared = Array.from(writer.indexes.values()).find(({ accessor }) => accessor === index)
  if (declared === undefined) throw new OptionError(`${call}: option "index" must be an index`, { option: 'index' })
  return new GroupRows<unknown>(writer, reads, declared, run, new Map(Object.entries(sums)) as Summands)
}

/** In development the function of a view cannot read an informer that `reads` does not name. */
function otherStores(inputs: readonly ReadInput[], view: string): readonly OtherStore[] {
  const named = new Set<unknown>(inputs.map(({ input }) => input))
  return informers.all.flatMap((informer) => {
    const its = internalsOf(informer)
    if (its === undefined || named.has(its.input)) return []
    const what = `the function of the view "${view}" reads the informer "${its.input.name}"`
    const refuse = (): never => {
      throw new OptionError(`${what}, which the option "reads" does not name`, { option: 'reads' })
    }
    return [{ store: its.input.context.indexer.store, reads: refusedReads<unknown>(refuse) }]
  })
}

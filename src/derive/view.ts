import { messageOf, OptionError, SourceError, toSourceError } from '../contract/errors.js'
import type { InformerContext } from '../informer/informer-context.js'
import type { ViewInput } from '../informer/internals.js'
import type { ViewWork } from '../informer/sources/view-inputs.js'
import { Int32List } from '../store/indexes/int32-list.js'
import type { TrackedReads } from '../store/pin.js'
import type { Store } from '../store/store.js'
import { UndoableMap } from '../store/undo-journal.js'
import type { Dependent, DomainPart } from '../store/write/commit.js'
import type { Partition } from '../store/write/partition.js'
import type { StoreWriter } from '../store/write/store-writer.js'
import { StoreTransaction } from '../store/write/transaction.js'
import { joinKey } from '../util/join-key.js'
import type { Steps } from '../util/steps.js'
import { isThenable } from '../util/type-guards.js'
import type { EdgeTable } from './edge-table.js'
import type { RecordedReads } from './recorded-reads.js'
import { GONE, type ViewRows } from './view-rows.js'

/** About this many rows or changes are looked at in one step. */
const STEP = 512

/** A commit that is delayed for longer by the function of a view is reported, in milliseconds. */
const SLOW_MS = 1_000

/** The number of rows that are called in one step of an audit. */
const AUDITED_ROWS = 1_024

export interface ReadInput {
  readonly input: ViewInput
  readonly writer: StoreWriter<unknown>
  readonly reads: RecordedReads<unknown>
}

/** A store whose readers see refusals while a function of the view runs: a read of it would not be recorded. */
export interface OtherStore {
  readonly store: Store<unknown>
  readonly reads: TrackedReads<unknown>
}

/** How the results of a call become objects: at most one under the key of the row, or any number under own names. */
export type Results = 'one' | 'named' | 'many'

interface Definition {
  readonly name: string
  readonly results: Results
  readonly inputs: readonly ReadInput[]
  readonly rows: ViewRows
  readonly edges: EdgeTable
  /** Whether the versions of the view are those of its inputs. */
  readonly hasVersion: boolean
  /** Returns all other stores of the process, in development. */
  others(): readonly OtherStore[]
  /** Called when the view cannot follow its inputs any more. It has to be evaluated again. */
  failed(error: unknown): void
}

let lastNumber = 0

/**
 * The objects of a view: the results of its function, one call for each row. A call is repeated when its row, or
 * something that it has read, changes.
 */
export class View<R> implements Dependent {
  readonly number: number = ++lastNumber
  readonly #of: Definition
  readonly #context: InformerContext<R>
  readonly #part: Partition<R>
  readonly #writer: StoreWriter<R>
  /** By the key of a row: the keys of its results, if it may have several. */
  readonly #keys = new UndoableMap<string, readonly string[]>()
  /** The rows to call, and the keys that have lost their row. */
  readonly #dirty: (number | string)[] = []
  /** A bit for each row. */
  readonly #isDirty = new Int32List()
  #others: readonly OtherStore[] = []
  #evaluations = 0
  #changes = 0
  #followed = 0
  #unaudited: Iterator<number> | undefined
  /** Whether it shows what its inputs show. */
  isCurrent = false
  /** Whether all rows are called, not those that a commit of an input concerns. */
  isListing = false
  #isEnded = false

  constructor(of: Definition, context: InformerContext<R>) {
    this.#of = of
    this.#context = context
    this.#part = context.indexer.whole
    this.#writer = context.indexer.writer
  }

  get #isFirst(): boolean {
    return this.#writer.commits === 0
  }

  get work(): ViewWork {
    const { edges } = this.#of
    return { evaluations: this.#evaluations, reads: edges.size, changes: this.#changes, followed: this.#followed }
  }

  /** An evaluation of all rows begins soon. The first one is invisible until it is complete. */
  begin(): void {
    if (this.#isFirst) this.#writer.store.isVisible = false
  }

  /** The evaluation has failed, or does not begin. */
  abandon(): void {
    if (!this.#isFirst) return
    this.#writer.store.clear()
    this.#writer.abandoned()
    this.#writer.store.isVisible = true
  }

  /** Evaluates all rows. The stores of the inputs are in the domain of this one, in which nothing else is written. */
  async evaluate(): Promise<void> {
    const writers = [this.#writer, ...this.#of.inputs.map(({ writer }) => writer)]
    // Also until a saved mirror is in the store: that moves its objects to other ordinals.
    for (let busy = writers.find(isBusy); busy !== undefined; busy = writers.find(isBusy)) await busy.idle()
    for (const { domain } of writers) this.#writer.domain.merge(domain)
    await this.#writer.write('derive', Infinity, () => this.#evaluateAll())
  }

  /**
   * Calls the function again for up to 1 024 rows, which the inputs have not changed. A result that differs is corrected,
   * and reported. Resolves to the share of the rows that were called.
   */
  async audit(): Promise<number> {
    const found: Found = { rows: 0, keys: [] }
    await this.#writer.write('audit', Infinity, () => this.#auditSome(found))
    const [first] = found.keys
    if (first !== undefined) {
      const others = found.keys.length === 1 ? '' : ` and ${found.keys.length - 1} more`
      const message = `the audit of ${this.#of.name} found another result or other reads for "${first}"${others}: its function is not pure, or it reads an informer that the option "reads" does not name`
      const error = new SourceError(message, { code: 'PROTOCOL', phase: 'derive', key: first, source: this.#of.name })
      this.#writer.hooks.report?.(error, undefined)
    }
    return this.#unaudited === undefined ? 1 : found.rows / Math.max(found.rows, this.#writer.store.size)
  }

  end(): void {
    this.#isEnded = true
    this.isCurrent = false
    this.#writer.domain.remove(this)
    for (const { reads } of this.#of.inputs) reads.clear()
    this.#of.rows.end?.()
  }

  *#evaluateAll(): Steps {
    const isFirst = this.#isFirst
    const { store, domain } = this.#writer
    const { rows, edges, inputs, hasVersion } = this.#of
    const version = hasVersion ? inputs[0]?.input.context.indexer.version : undefined
    this.isCurrent = false
    this.isListing = true
    this.#undoAbandoned()
    try {
      rows.clear?.()
      edges.clear()
      for (const { reads } of inputs) reads.clear()
      this.#dirty.length = 0
      this.#isDirty.clear()
      this.#unaudited = undefined
      const transaction = new StoreTransaction(this.#writer, this.#part, isFirst ? 'initial' : 'relist', { version })
      this.#keys.begin()
      for (const row of rows.all()) {
        this.#touch(row)
        if (row % STEP === 0) yield
      }
      const kept = isFirst ? undefined : new Set<string>()
      yield* this.#callRows(transaction, kept)
      if (kept !== undefined) yield* transaction.removeAll((key) => !kept.has(key))
      yield* store.indexes.prepare()
      this.#keys.commit()
      if (!domain.has(this)) domain.add(this)
      this.isCurrent = true
      store.isVisible = true
      yield* transaction.commit(version)
    } catch (error) {
      this.#keys.rollback()
      throw error
    } finally {
      this.isListing = false
    }
  }

  *#auditSome(found: Found): Steps {
    if (!this.isCurrent) return
    this.#undoAbandoned()
    const { rows, hasVersion } = this.#of
    const version = hasVersion ? this.#writer.position : undefined
    const transaction = new StoreTransaction(this.#writer, this.#part, 'relist', { version })
    this.#keys.begin()
    try {
      this.#unaudited ??= rows.all()[Symbol.iterator]()
      while (found.rows < AUDITED_ROWS) {
        const { done, value } = this.#unaudited.next()
        if (done === true) {
          this.#unaudited = undefined
          break
        }
        rows.forget?.(value)
        this.#touch(value)
        found.rows++
      }
      yield* this.#callRows(transaction, undefined, found.keys)
      if (found.keys.length === 0) {
        transaction.rollback()
        this.#keys.rollback()
        this.#writer.abandoned()
        return
      }
      this.#keys.commit()
      yield* transaction.commit(version)
    } catch (error) {
      this.#keys.rollback()
      throw error
    }
  }

  *advance(parts: readonly DomainPart[]): Generator<void, DomainPart | undefined> {
    const below = parts.filter(({ writer }) => this.#of.inputs.some((each) => each.writer === writer))
    const [first] = below
    if (first === undefined || !this.isCurrent) return undefined
    const { store } = this.#writer
    const { name } = this.#of
    const { clock, events } = this.#context
    this.#undoAbandoned()
    store.hold()
    let transaction: StoreTransaction<R> | undefined
    this.#keys.begin()
    try {
      for (const part of below) yield* this.#collect(part)
      const { origin, committedAt } = first
      const version = this.#of.hasVersion ? first.version : undefined
      transaction = new StoreTransaction(this.#writer, this.#part, origin, { version })
      const before = this.#evaluations
      const since = clock.now()
      yield* this.#callRows(transaction, undefined)
      const tookMs = clock.now() - since
      const calls = this.#evaluations - before
      this.#followed += calls
      if (tookMs > SLOW_MS)
        events.warning(`${name}: its function delayed a commit by ${Math.round(tookMs)} ms, in ${calls} calls`)
      if (isBusy(this.#writer)) yield* store.indexes.prepare()
      this.#assertNotEnded()
      transaction.end(version, committedAt)
      this.#keys.commit()
      return transaction
    } catch (error) {
      transaction?.rollback()
      this.#keys.rollback()
      this.#writer.abandoned()
      store.release()
      this.isCurrent = false
      this.#of.failed(error)
      return undefined
    }
  }

  /** From now on the stores of stopped inputs have what their readers see. */
  #undoAbandoned(): void {
    for (const { writer } of this.#of.inputs) writer.undoAbandoned()
  }

  *#collect(part: DomainPart): Steps {
    const { inputs, rows, edges } = this.#of
    const reads = inputs.find(({ writer }) => writer === part.writer)?.reads
    const { changes, memberships, tracked, ordinals } = part
    const indexes = Array.from(reads?.indexNodes.values() ?? [], (nodes) => ({
      nodes,
      at: tracked.indexOf(nodes.declared),
    }))
    const touched: number[] = []
    const touch = (node: number): void => void touched.push(node)
    let looked = 0
    this.#changes += changes.length
    for (let i = 0; i < changes.length; i++) {
      const key = changes[i]?.key ?? ''
      for (const row of rows.changedBy(part, i)) this.#touch(row)
      const removed = rows.removedBy?.(part, i)
      if (removed !== undefined) this.#dirty.push(removed)
      reads?.changed(key, ordinals[i] ?? -1, touch)
      for (const { nodes, at } of indexes)
        nodes.changed({ key, before: memberships[i]?.[at], now: memberships[i]?.[tracked.length + at] }, touch)
      for (const node of touched) {
        for (let edge = edges.firstOf(node); edge !== 0; edge = edges.nextOf(edge)) {
          this.#touch(edges.rowOf(edge))
          if (++looked % STEP === 0) yield
        }
      }
      touched.length = 0
      if (++looked % STEP === 0) yield
    }
  }

  #touch(row: number): void {
    const bits = this.#isDirty.get(row >>> 5)
    const bit = 1 << (row & 31)
    if ((bits & bit) !== 0) return
    this.#isDirty.set(row >>> 5, bits | bit)
    this.#dirty.push(row)
  }

  /** Adds the keys of all results to `kept`, and the keys of the rows whose results or reads have changed to `differing`. */
  *#callRows(transaction: StoreTransaction<R>, kept: Set<string> | undefined, differing?: string[]): Steps {
    this.#others = this.#dirty.length === 0 ? [] : this.#of.others()
    for (let at = 0; at < this.#dirty.length; at++) {
      this.#assertNotEnded()
      const row = this.#dirty[at] ?? 0
      if (typeof row === 'string') {
        this.#writeNothing(row, transaction)
        yield
        continue
      }
      this.#isDirty.set(row >>> 5, this.#isDirty.get(row >>> 5) & ~(1 << (row & 31)))
      const steps = this.#of.rows.prepare?.(row)
      if (steps !== undefined) yield* steps
      this.#assertNotEnded()
      if (differing === undefined) this.#callRow(row, transaction, kept)
      else this.#auditRow(row, transaction, differing)
      yield
    }
    this.#dirty.length = 0
  }

  #assertNotEnded(): void {
    if (this.#isEnded) throw new SourceError(`${this.#of.name} was stopped`, { code: 'STOPPED', phase: 'derive' })
  }

  #auditRow(row: number, transaction: StoreTransaction<R>, differing: string[]): void {
    const key = this.#of.rows.keyOf(row)
    if (key === undefined) return
    const changes = transaction.changes.length
    const wasInvalid = this.#writer.invalid.has(this.#invalidKeyOf(key))
    const isValid = this.#callRow(row, transaction, undefined)
    if (transaction.changes.length > changes || this.#of.edges.hasChanged || wasInvalid === isValid) differing.push(key)
  }

  /** Returns whether the function has returned. */
  #callRow(row: number, transaction: StoreTransaction<R>, kept: Set<string> | undefined): boolean {
    const { rows, edges, results } = this.#of
    const key = rows.keyOf(row)
    if (key === undefined) {
      edges.begin(row)
      edges.end()
      return true
    }
    this.#evaluations++
    let value: unknown
    let found: ReadonlyMap<string, unknown> | undefined
    let failure: { readonly error: unknown } | undefined
    edges.begin(row)
    this.#show()
    try {
      value = rows.call(row)
      if (results !== 'one' && value !== GONE && !isThenable(value)) found = resultsOf(value, key, results)
    } catch (error) {
      failure = { error }
    } finally {
      this.#showHeld()
      edges.end()
    }
    if (isThenable(value)) {
      value.then(undefined, () => {}) // Its rejection has no other handler.
      const message = 'the function returned a promise; it must be synchronous'
      failure = { error: new OptionError(message, { option: 'each' }) }
    }
    // A mistake of the program is found when the program starts. Later a rare one costs its key only.
    if (failure?.error instanceof OptionError && (this.#isFirst || isThenable(value)))
      throw toSourceError(failure.error, { phase: 'derive', source: this.#of.name })
    if (failure !== undefined) this.#reject(key, failure.error, transaction, kept)
    else if (value === GONE) this.#writeNothing(key, transaction)
    else if (results === 'one') this.#writeOne(row, key, value, transaction, kept)
    else this.#writeAll(key, found ?? new Map(), transaction, kept)
    if (value === GONE) for (const other of rows.remove?.(row) ?? []) this.#touch(other)
    return failure === undefined
  }

  #writeNothing(key: string, transaction: StoreTransaction<R>): void {
    for (const each of this.#keysOf(key)) this.#remove(each, transaction)
    transaction.markValid(this.#invalidKeyOf(key))
    if (this.#of.results !== 'one') this.#keys.delete(key)
  }

  #writeOne(
    row: number,
    key: string,
    object: unknown,
    transaction: StoreTransaction<R>,
    kept: Set<string> | undefined,
  ): void {
    if (object === undefined) {
      this.#writeNothing(key, transaction)
      return
    }
    // Without functions that return nothing, the results are in the order of the rows.
    transaction.put({ key, object }, row)
    kept?.add(key)
  }

  #writeAll(
    key: string,
    found: ReadonlyMap<string, unknown>,
    transaction: StoreTransaction<R>,
    kept: Set<string> | undefined,
  ): void {
    for (const each of this.#keysOf(key)) if (!found.has(each)) this.#remove(each, transaction)
    for (const [each, object] of found) {
      transaction.put({ key: each, object })
      kept?.add(each)
    }
    transaction.markValid(this.#invalidKeyOf(key))
    if (found.size === 0) this.#keys.delete(key)
    else this.#keys.set(key, [...found.keys()])
  }

  #reject(key: string, thrown: unknown, transaction: StoreTransaction<R>, kept: Set<string> | undefined): void {
    const { name, results } = this.#of
    const invalidKey = this.#invalidKeyOf(key)
    const of = results === 'named' ? '' : ` for "${key}"`
    const message = `${name}: the function failed${of}: ${messageOf(thrown)}`
    const error = new SourceError(message, {
      code: 'DECODE',
      phase: 'derive',
      cause: thrown,
      key: invalidKey,
      source: name,
    })
    transaction.markInvalid(invalidKey, error, undefined)
    kept?.add(invalidKey)
    const isOmitted = this.#writer.hooks.onInvalid === 'omit'
    for (const each of this.#keysOf(key)) {
      if (!isOmitted) kept?.add(each)
      else if (results !== 'one') this.#remove(each, transaction)
    }
    if (isOmitted) this.#keys.delete(key)
  }

  #remove(key: string, transaction: StoreTransaction<R>): void {
    transaction.remove(key, undefined, undefined, transaction.origin === 'access-lost' ? 'unknown' : undefined)
  }

  #keysOf(key: string): readonly string[] {
    if (this.#of.results !== 'one') return this.#keys.get(key) ?? []
    return this.#writer.store.ordinalOf(key) === undefined ? [] : [key]
  }

  /** The key of a row among invalid keys: no result of another row has it. */
  #invalidKeyOf(key: string): string {
    return this.#of.results === 'many' ? escaped(key) : key
  }

  /** From now on readers of the inputs see their current state, and are recorded. */
  #show(): void {
    for (const { store, reads } of this.#others) store.show(reads)
    for (const { writer, reads } of this.#of.inputs) writer.store.show(reads.shown)
  }

  #showHeld(): void {
    for (const { store } of this.#others) store.showHeld()
    for (const { writer } of this.#of.inputs) writer.store.showHeld()
  }
}

interface Found {
  rows: number
  readonly keys: string[]
}

function isBusy({ isBusy }: { readonly isBusy: boolean }): boolean {
  return isBusy
}

function resultsOf(value: unknown, key: string, results: Results): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  if (!isIterable(value)) throw new TypeError('it must return an iterable of pairs of a name and an object')
  for (const pair of value) {
    const [name, object]: readonly unknown[] = Array.isArray(pair) ? pair : []
    if (typeof name !== 'string' || name === '')
      throw new TypeError('each result must be a pair of a name and an object')
    const own = results === 'named' ? name : joinKey([key, name])
    if (found.has(own)) throw new TypeError(`it returned the name "${name}" twice`)
    found.set(own, object)
  }
  return found
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.iterator in value
}

function escaped(key: string): string {
  return joinKey([key, '']).slice(0, -1)
}

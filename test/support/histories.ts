import { type MemoryDatabase, type MemoryDatabaseOptions, memoryDatabase } from '../../adapters/memory/index.js'
import { SourceError, type SourceErrorCode } from '../../src/contract/errors.js'
import {
  type CollectionBatch,
  type CollectionSource,
  type HistoryWatchContext,
  isCollection,
  type SharedHistory,
} from '../../src/contract/shared-history.js'
import type { ListContext } from '../../src/contract/source.js'
import { unlessAborted } from '../../src/util/abort-listeners.js'

export type Row = { readonly at: number }

/** A memory database with scripted faults of single collections. */
export class FaultyDatabase implements SharedHistory {
  readonly name = 'shop'
  readonly holdMs: number | undefined
  readonly database: MemoryDatabase
  readonly #inner = new Map<string, CollectionSource<Row>>()
  /** By collection: how the next batch fails for it. With `damage` its informer rejects the batch. */
  readonly lost = new Map<string, SourceErrorCode | 'damage'>()
  /** By collection: how its next list fails. */
  readonly refused = new Map<string, SourceErrorCode>()
  /** By collection: its lists wait for this before they end. */
  readonly slow = new Map<string, Promise<unknown>>()
  /** Whether the next batch ends the watch instead. */
  isEnding = false
  /** Whether the next watch yields nothing. */
  isSilent = false
  /** For how many seconds the next watches work before their first batch. */
  catchUpS = 0
  /** Called before each batch. */
  onBatch: (() => Promise<void>) | undefined
  /** The numbers of watches that were opened, and that are open. */
  opened = 0
  open = 0
  /** That of the last watch. */
  context: HistoryWatchContext | undefined

  constructor({ holdMs, ...options }: MemoryDatabaseOptions = {}) {
    this.holdMs = holdMs
    this.database = memoryDatabase({ heartbeatMs: 1_000, ...options })
  }

  /** Returns the same collection at each call. */
  inner(name: string): CollectionSource<Row> {
    const source = this.#inner.get(name) ?? this.database.collection<Row>(name)
    if (!isCollection(source)) throw new Error('a collection has a history')
    this.#inner.set(name, source)
    return source
  }

  collection(name: string): CollectionSource<Row> {
    const source = this.inner(name)
    const list: typeof source.list = (context) => this.#list(name, source.list(context), context)
    return { ...source, history: this, list }
  }

  /** Writes these rows in one transaction; `undefined` deletes. */
  write(rows: Readonly<Record<string, Readonly<Record<string, number | undefined>>>>): string {
    return this.database.commit((tx) => {
      for (const [name, own] of Object.entries(rows)) {
        for (const [key, at] of Object.entries(own)) {
          if (at === undefined) tx.delete(this.inner(name), key)
          else tx.put(this.inner(name), key, { at })
        }
      }
    })
  }

  async *#list<P>(name: string, pages: AsyncIterable<P>, { signal }: ListContext): AsyncIterable<P> {
    const code = this.refused.get(name)
    this.refused.delete(name)
    if (code !== undefined) throw new SourceError('the list is refused', { code })
    yield* pages
    await unlessAborted(signal, async () => await this.slow.get(name))
  }

  async *watch(context: HistoryWatchContext): AsyncIterable<CollectionBatch> {
    this.opened++
    this.open++
    this.context = context
    using _ = { [Symbol.dispose]: () => this.open-- }
    if (this.isSilent) {
      this.isSilent = false
      await unlessAborted(context.signal, () => new Promise<never>(() => {}))
    }
    for (let second = 0; second < this.catchUpS; second++) {
      await context.clock.sleep(1_000, context.signal)
      context.alive?.()
    }
    const [history] = Array.from(this.#inner.values(), (source) => source.history)
    // Saved content is of this database.
    for await (const batch of history?.watch({ ...context, isUnconfirmed: false }) ?? []) {
      if (this.isEnding) {
        this.isEnding = false
        return
      }
      const parts = new Map(batch.parts)
      const lost = new Map<string, SourceError>()
      for (const [name, code] of this.lost) {
        if (code === 'damage') parts.set(name, [{ type: 'replace', entries: [{}] } as never])
        else lost.set(name, new SourceError('the collection is lost', { code }))
      }
      this.lost.clear()
      void this.onBatch?.()
      yield { ...batch, parts, lost }
    }
  }
}

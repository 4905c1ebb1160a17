import { ABORTED, messageOf } from '../../src/contract/errors.js'
import type { TextChange } from '../../src/contract/relay-store.js'
import type { Entry, SourceContext } from '../../src/contract/source.js'
import type { Version } from '../../src/contract/version.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { Added, Updated } from '../../src/queue/change.js'
import type { StoreView } from '../../src/store/store-view.js'
import { historyOf } from '../../src/subscriptions/delivered-batch.js'
import type { ChangeBatch, ChangeStream } from '../../src/subscriptions/subscription-types.js'
import { unlessAborted } from '../../src/util/abort-listeners.js'
import type { Expected } from './difference.js'
import { encodeKey, objectText, withoutVersion } from './relay-texts.js'

/** A position of the mirror. `history` is the number of the history of its source; undefined if access was lost. */
export interface MirrorPosition {
  readonly version: Version | undefined
  readonly history: number | undefined
}

export interface MirrorBatch extends MirrorPosition {
  readonly size: number
  /** They are encoded when they are read, also if they are read again. */
  readonly changes: Iterable<TextChange>
}

/** The changes of a mirror as texts, after the content that it had when the stream was opened. */
export class MirrorStream<T> {
  #isFirst: boolean
  readonly #informer: Informer<T>
  readonly #stream: ChangeStream<T>
  readonly #batches: AsyncIterator<ChangeBatch<T>, unknown>
  #snapshot: (StoreView<T> & Disposable) | undefined
  /** The invalid objects that the texts have, with the reasons. */
  #invalid: ReadonlyMap<string, string>
  #reading: Promise<IteratorResult<ChangeBatch<T>, unknown>> | undefined
  #start: MirrorPosition | undefined

  /** `hasSnapshot`: keeps the content of now, for `expected`, until `release`. */
  constructor(
    informer: Informer<T>,
    name: string,
    { hasSnapshot, isFirst }: { readonly hasSnapshot: boolean; readonly isFirst: boolean },
  ) {
    this.#isFirst = isFirst
    this.#informer = informer
    this.#invalid = reasonsIn(informer)
    // Both are of one moment, because there is no await between them.
    if (hasSnapshot) this.#snapshot = informer.snapshot()
    this.#stream = informer.changes({ name, delivery: 'latest' })
    this.#batches = this.#stream[Symbol.asyncIterator]()
  }

  /** Whether no batch was taken since the content that the mirror restores, if it restores any. */
  get isFirst(): boolean {
    return this.#isFirst
  }

  get backlog(): { readonly keys: number; readonly oldestMs: number } {
    return this.#stream.backlog
  }

  /** The position at which the stream begins. Call it before `nextWithin`. Undefined if the stream has ended. */
  async start(signal: AbortSignal): Promise<MirrorPosition | undefined> {
    while (this.#start === undefined) {
      const batch = await this.#read(signal)
      if (batch === undefined) return undefined
      if (batch.isSynced) this.#start = positionOf(batch)
    }
    return this.#start
  }

  /** The stream begins with the content of a store, which has these invalid objects. */
  beginsWith(invalid: ReadonlyMap<string, string>): void {
    this.#invalid = invalid
  }

  get expected(): Expected {
    const snapshot = this.#snapshot
    const invalid = this.#invalid
    return {
      *keys() {
        if (snapshot !== undefined) yield* snapshot.keys()
        for (const key of invalid.keys()) if (snapshot?.has(key) !== true) yield key
      },
      text: (key, isRepair) => {
        const entry = snapshot?.entry(key)
        return objectText(isRepair && entry !== undefined ? withoutVersion(entry) : entry, invalid.get(key))
      },
    }
  }

  release(): void {
    this.#snapshot?.[Symbol.dispose]()
    this.#snapshot = undefined
  }

  /** `silent`: none for `ms` milliseconds. `ended`: no other follows. After an abort the same batch is returned. */
  async nextWithin(ms: number, { signal, clock }: SourceContext): Promise<MirrorBatch | 'silent' | 'ended'> {
    const timer = new AbortController()
    const limit = AbortSignal.any([signal, timer.signal])
    clock.sleep(ms, limit).then(
      () => timer.abort(ABORTED),
      () => {},
    )
    try {
      const batch = await this.#read(limit)
      this.#isFirst = false
      return batch === undefined ? 'ended' : { ...positionOf(batch), ...this.#changesIn(batch) }
    } catch (error) {
      if (signal.aborted || !timer.signal.aborted) throw error
      return 'silent'
    } finally {
      timer.abort(ABORTED)
    }
  }

  async close(options: { readonly drain?: boolean } = {}): Promise<void> {
    if (options.drain !== true) this.release()
    await this.#stream.close(options)
  }

  async #read(signal: AbortSignal): Promise<ChangeBatch<T> | undefined> {
    this.#reading ??= this.#batches.next()
    const reading = this.#reading
    const { done, value } = await unlessAborted(signal, () => reading)
    this.#reading = undefined
    return done === true ? undefined : value
  }

  #changesIn({ changes, version }: ChangeBatch<T>): Pick<MirrorBatch, 'size' | 'changes'> {
    const objects = new Map<string, readonly [entry: Entry<T> | undefined, invalid: string | undefined]>()
    const before = this.#invalid
    // A later commit may have changed which objects are invalid. Its batch follows.
    if (version === this.#informer.version) this.#invalid = reasonsIn(this.#informer)
    const set = (key: string, entry: Entry<T> | undefined): void => {
      objects.set(key, [entry, this.#invalid.get(key)])
    }
    if (this.#invalid !== before) {
      for (const [key, reason] of this.#invalid) if (before.get(key) !== reason) set(key, this.#informer.entry(key))
      for (const key of before.keys()) if (!this.#invalid.has(key)) set(key, this.#informer.entry(key))
    }
    for (const change of changes) set(change.key, change.type === 'delete' ? undefined : this.#entryOf(change))
    return { size: objects.size, changes: { [Symbol.iterator]: () => textsOf(objects) } }
  }

  /**
   * If a later commit has replaced the object already, its version and uid are not known any more. A list may repair an
   * object without another version: followers would ignore it with its version.
   */
  #entryOf({ key, object, type, origin }: Added<T> | Updated<T>): Entry<T> {
    const entry = this.#informer.entry(key)
    if (entry?.object !== object) return { key, object }
    return type === 'update' && origin === 'relist' ? withoutVersion(entry) : entry
  }
}

function* textsOf(
  objects: ReadonlyMap<string, readonly [entry: Entry<unknown> | undefined, invalid: string | undefined]>,
): Generator<TextChange> {
  for (const [key, [entry, invalid]] of objects) yield { key: encodeKey(key), text: objectText(entry, invalid) }
}

function positionOf(batch: ChangeBatch<unknown>): MirrorPosition {
  return { version: batch.version, history: historyOf(batch) }
}

function reasonsIn({ invalid }: Pick<Informer<unknown>, 'invalid'>): ReadonlyMap<string, string> {
  return new Map(Array.from(invalid, ([key, error]) => [key, messageOf(error.cause ?? error)]))
}

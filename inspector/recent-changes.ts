import type { Informer } from '../src/informer/informer-types.js'
import type { Change } from '../src/queue/change.js'
import type { Subscription } from '../src/subscriptions/subscription-types.js'
import { type FieldDifference, fieldDifferences } from './field-differences.js'
import { type JsonValue, jsonOf } from './object-json.js'

export interface ShownChange {
  /** Counts the changes of an informer since the inspector began. */
  readonly number: number
  /** When it was delivered, in milliseconds since the Unix epoch. */
  readonly at: number
  readonly type: 'add' | 'update' | 'delete'
  readonly key: string
  readonly version: string | undefined
  readonly origin: string
  readonly differences: readonly FieldDifference[]
  /** The object of an add, or the last state of a deleted one. */
  readonly object: JsonValue | undefined
}

interface Kept {
  readonly number: number
  readonly at: number
  readonly change: Change<unknown>
}

const KEPT = 1_000

/** The most recent changes of an informer. Their objects are converted when they are read. */
export class RecentChanges {
  readonly #showsSecrets: boolean
  readonly #subscription: Subscription
  readonly #listeners = new Set<() => void>()
  #kept: Kept[] = []
  #count = 0

  constructor(informer: Informer<unknown, object>, showsSecrets: boolean) {
    this.#showsSecrets = showsSecrets
    const take = (change: Change<unknown>): void => this.#take(change)
    this.#subscription = informer.subscribe(
      { add: take, update: take, delete: take },
      { name: 'inspector', capacity: KEPT },
    )
  }

  get count(): number {
    return this.#count
  }

  /** Returns at most `limit` changes after a number, the oldest first. */
  after(number: number, limit: number): readonly ShownChange[] {
    const from = this.#kept.findIndex((each) => each.number > number)
    return from === -1
      ? []
      : this.#kept
          .slice(from)
          .slice(-limit)
          .map((each) => this.#shown(each))
  }

  /** Returns the kept changes of a key, the newest first. */
  of(key: string): readonly ShownChange[] {
    return this.#kept
      .filter(({ change }) => change.key === key)
      .reverse()
      .map((each) => this.#shown(each))
  }

  /** Calls `listener` after changes. Returns a function that removes it. */
  listen(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  close(): Promise<void> {
    this.#listeners.clear()
    return this.#subscription.close()
  }

  #take(change: Change<unknown>): void {
    if (change.origin === 'initial' || change.origin === 'resync') return
    this.#kept.push({ number: ++this.#count, at: Date.now(), change })
    if (this.#kept.length >= 2 * KEPT) this.#kept = this.#kept.slice(-KEPT)
    for (const listener of this.#listeners) listener()
  }

  #shown({ number, at, change }: Kept): ShownChange {
    const { type, key, version, origin, object } = change
    const json = jsonOf(object, this.#showsSecrets)
    const isUpdate = type === 'update'
    return {
      number,
      at,
      type,
      key,
      version,
      origin,
      differences: isUpdate ? fieldDifferences(jsonOf(change.previous, this.#showsSecrets), json) : [],
      object: isUpdate ? undefined : json,
    }
  }
}

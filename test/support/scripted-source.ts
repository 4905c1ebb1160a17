import type { ListContext, ListEvent, ListPage, WatchBatch, WatchContext, WatchEvent } from '../../src/adapter.js'
import { type ListerWatcher, SourceError, type Version } from '../../src/index.js'

/** What a test hands out piece by piece. It does not react to any signal: the core has to do without. */
class Channel<V> implements AsyncIterableIterator<V, undefined> {
  readonly #items: (() => Promise<IteratorResult<V, undefined>>)[] = []
  #asking: ((result: Promise<IteratorResult<V, undefined>>) => void) | undefined
  isReturned = false

  send(value: V): void {
    this.#add(() => Promise.resolve({ value, done: false }))
  }

  end(): void {
    this.#add(() => Promise.resolve({ value: undefined, done: true }))
  }

  fail(error: unknown): void {
    this.#add(() => Promise.reject(error))
  }

  next(): Promise<IteratorResult<V, undefined>> {
    const item = this.#items.shift()
    if (item !== undefined) return item()
    return new Promise((resolve) => (this.#asking = resolve))
  }

  async return(): Promise<IteratorResult<V, undefined>> {
    this.isReturned = true
    return { value: undefined, done: true }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #add(item: () => Promise<IteratorResult<V, undefined>>): void {
    const asking = this.#asking
    this.#asking = undefined
    if (asking === undefined) this.#items.push(item)
    else asking(item())
  }
}

export class ListCall<T> extends Channel<ListPage<T>> {
  readonly context: ListContext

  constructor(context: ListContext) {
    super()
    this.context = context
  }

  page(events: readonly ListEvent<T>[], version?: Version): void {
    this.send(version === undefined ? { events } : { events, version })
  }

  /** The whole list in one page. */
  answer(events: readonly ListEvent<T>[], version: Version): void {
    this.page(events, version)
    this.end()
  }
}

export class WatchCall<T> extends Channel<WatchBatch<T>> {
  readonly context: WatchContext
  progressRequests = 0

  constructor(context: WatchContext) {
    super()
    this.context = context
  }

  batch(events: readonly WatchEvent<T>[], version: Version): void {
    this.send({ events, version })
  }
}

export interface ScriptedSource<T> extends ListerWatcher<T> {
  readonly lists: ListCall<T>[]
  readonly watches: WatchCall<T>[]
}

export interface Script<T> {
  readonly heartbeatMs?: number
  readonly hasReached?: (at: Version, mark: Version) => boolean
  readonly isLaterEpoch?: (at: Version, mark: Version) => boolean
  readonly head?: () => Promise<Version>
  /** What happens to a list when it is opened; it may throw. Without it the test answers later. */
  readonly onList?: (call: ListCall<T>, nth: number) => void
  readonly onWatch?: (call: WatchCall<T>, nth: number) => void
}

/** A source that does what its script says, and nothing else; `nth` counts from 1. */
export function scripted<T>({ onList, onWatch, ...members }: Script<T> = {}): ScriptedSource<T> {
  const lists: ListCall<T>[] = []
  const watches: WatchCall<T>[] = []
  return {
    name: 'scripted',
    ...members,
    lists,
    watches,
    list(context) {
      const call = new ListCall<T>(context)
      lists.push(call)
      onList?.(call, lists.length)
      return call
    },
    watch(context) {
      const call = new WatchCall<T>(context)
      context.onProgressRequest(() => {
        call.progressRequests++
      })
      watches.push(call)
      onWatch?.(call, watches.length)
      return call
    },
  }
}

/** Order of versions like `7` or `b7`: what stands before the number is the epoch. */
export function numbered(at: Version, mark: Version): boolean {
  const [here, there] = [split(at), split(mark)]
  if (here.epoch !== there.epoch) throw new SourceError('another epoch', { code: 'EPOCH_CHANGED' })
  return here.number >= there.number
}

function split(version: Version): { readonly epoch: string; readonly number: number } {
  const number = version.replace(/^\D*/, '')
  return { epoch: version.slice(0, version.length - number.length), number: Number(number) }
}

/** A put with a version of its own, as most sources send it. */
export function put<T>(key: string, object: T, version?: Version): { type: 'put'; key: string; object: T } {
  return version === undefined ? { type: 'put', key, object } : { type: 'put', key, object, ...{ version } }
}

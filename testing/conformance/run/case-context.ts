import { systemRandom } from '../../../src/contract/random.js'
import type { ListContext, ListerWatcher, ListPage, SourceContext } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import { areEqual, difference, ExpectedContents, type Values } from '../expected-contents.js'
import type {
  ConformanceCapability,
  ConformanceChange,
  ListerWatcherHarness,
  ListerWatcherSubject,
} from '../harness.js'
import { CountingClock, check, checkEvents, checkVersion, withTimeout } from './assertions.js'
import { type Position, WatchRecorder } from './watch-recorder.js'

export interface Listing extends Position {
  readonly pages: readonly ListPage<unknown>[]
}

export interface ListingOptions {
  readonly pageSize?: number
  readonly signal?: AbortSignal
  readonly between?: (page: number) => Promise<void>
}

/** Thrown by a case that does not apply to the source. */
export class SkipCase extends Error {}

/** The context of one running case: its source, the writer, and every state of the collection so far. */
export class CaseContext {
  readonly subject: ListerWatcherSubject<unknown>
  readonly timeoutMs: number
  readonly clock: CountingClock = new CountingClock()
  /** All states so far, by the source's keys. A state is added before any reader can see it. */
  readonly states: Values[] = [new Map()]
  readonly #unsupported: ListerWatcherHarness<unknown>['unsupported']
  readonly #watches: WatchRecorder[] = []

  constructor(subject: ListerWatcherSubject<unknown>, harness: ListerWatcherHarness<unknown>) {
    this.subject = subject
    this.timeoutMs = harness.timeoutMs ?? 10_000
    this.#unsupported = harness.unsupported
  }

  get source(): ListerWatcher<unknown> {
    return this.subject.source
  }

  get current(): Values {
    return this.states.at(-1) ?? new Map()
  }

  supports(need: ConformanceCapability): boolean {
    return this.#unsupported?.[need] === undefined
  }

  keyOf(key: string): string {
    return this.subject.keyOf?.(key) ?? key
  }

  /** Writes the changes as one transaction, or one by one if the source has no transactions. Returns the last mark. */
  async write(...changes: readonly ConformanceChange[]): Promise<Version | undefined> {
    if (this.supports('transactions')) return await this.#commit(changes)
    let mark: Version | undefined
    for (const change of changes) mark = await this.#commit([change])
    return mark
  }

  async put(key: string, value: string): Promise<Version | undefined> {
    return await this.write({ key, value })
  }

  async delete(key: string): Promise<Version | undefined> {
    return await this.write({ key, value: undefined })
  }

  /** Makes the object undecodable. It no longer counts as contents of the collection. */
  async corrupt(key: string): Promise<void> {
    const next = new Map(this.current)
    next.delete(this.keyOf(key))
    this.states.push(next)
    await this.subject.corrupt?.(key)
  }

  async connections(): Promise<number> {
    return (await this.subject.connections?.()) ?? 0
  }

  /** Makes the changes in a transaction. It stays open until the returned function is called. */
  async begin(...changes: readonly ConformanceChange[]): Promise<() => Promise<void>> {
    const commit = await this.subject.begin?.(changes)
    return async () => {
      this.#expect(changes)
      await commit?.()
    }
  }

  async #commit(changes: readonly ConformanceChange[]): Promise<Version | undefined> {
    this.#expect(changes)
    return await this.subject.write(changes)
  }

  #expect(changes: readonly ConformanceChange[]): void {
    const next = new Map(this.current)
    for (const { key, value } of changes) {
      if (value === undefined) next.delete(this.keyOf(key))
      else next.set(this.keyOf(key), value)
    }
    this.states.push(next)
  }

  sourceContext(signal: AbortSignal = new AbortController().signal): SourceContext {
    return { signal, clock: this.clock, random: systemRandom }
  }

  pages({ pageSize = 1_000, signal }: ListingOptions = {}): AsyncIterator<ListPage<unknown>> {
    const context: ListContext = { ...this.sourceContext(signal), pageSize }
    return this.source.list(context)[Symbol.asyncIterator]()
  }

  async list(options: ListingOptions = {}): Promise<Listing> {
    const iterator = this.pages(options)
    const contents = this.contents()
    const pages: ListPage<unknown>[] = []
    for (;;) {
      const { done, value } = await withTimeout(this.timeoutMs, 'a page of a list', iterator.next())
      if (done === true) break
      checkEvents(value.events, 'list')
      contents.apply(value.events)
      pages.push(value)
      await options.between?.(pages.length)
    }
    const version = pages.at(-1)?.version
    checkVersion(version, "a list's last page")
    return { contents, pages, version }
  }

  /** Returns the keys of `versions`, with the version of its last page. */
  async versions(): Promise<{ readonly keys: ReadonlyMap<string, Version>; readonly version: Version | undefined }> {
    check(this.source.versions !== undefined, 'the source has no versions()')
    const keys = new Map<string, Version>()
    let version: Version | undefined
    for await (const page of this.source.versions({ ...this.sourceContext(), pageSize: 3 })) {
      for (const each of page.keys) keys.set(each.key, each.version)
      version = page.version
    }
    return { keys, version }
  }

  contents(): ExpectedContents {
    return new ExpectedContents((object) => this.subject.read(object))
  }

  /** Starts a watch after a list, or after the position of another watch. It ends with the case. */
  watch(from: Position): WatchRecorder {
    const watch = new WatchRecorder(this.source, this.sourceContext(), from, this.timeoutMs)
    this.#watches.push(watch)
    return watch
  }

  /** Waits until watches are open, by a write that they deliver. A source need not yield anything before a change. */
  async untilOpen(...watches: readonly WatchRecorder[]): Promise<void> {
    await this.put('opened', String(this.states.length))
    for (const watch of watches) await watch.untilEqual(this.current)
  }

  /** Starts a watch after a list of now, and waits until it is open. */
  async openWatch(): Promise<WatchRecorder> {
    const watch = this.watch(await this.list())
    await this.untilOpen(watch)
    return watch
  }

  async head(): Promise<Version> {
    check(this.source.head !== undefined, 'the source has no head()')
    const head = await withTimeout(this.timeoutMs, 'head()', this.source.head(this.sourceContext()))
    checkVersion(head, 'head()')
    return head
  }

  hasReached(at: Version, mark: Version): boolean {
    check(this.source.hasReached !== undefined, 'the source has no hasReached()')
    return this.source.hasReached(at, mark)
  }

  expectCurrent(what: string, values: Values): void {
    check(areEqual(values, this.current), `${what}: ${difference(values, this.current)}`)
  }

  /** Reads a watch to the current state. Throws unless its positions are states of the collection, in their order. */
  async expectFollowed(watch: WatchRecorder): Promise<void> {
    await watch.untilEqual(this.current)
    this.expectStates('the watch', watch.positions)
  }

  /** Throws unless the positions are states of the collection, in their order. Returns the number of the last state. */
  expectStates(what: string, positions: readonly Position[], from = 0): number {
    let at = from
    for (const { contents, version } of positions) {
      const found = this.states.findIndex((state, number) => number >= at && areEqual(state, contents.values))
      if (found < 0) {
        const nearest = this.states[at] ?? this.current
        const why = difference(contents.values, nearest)
        check(false, `${what}, at ${version}, shows a state that never existed, or an earlier one: ${why}`)
      }
      at = found
    }
    return at
  }

  /** Ends everything that is still open. Other cases check that it ends in time. */
  async dispose(): Promise<void> {
    await Promise.allSettled(this.#watches.map((watch) => watch.stop()))
    await this.subject.dispose?.()
  }
}

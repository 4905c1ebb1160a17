import type { ListContext, ListEvent, ListPage } from '../../../src/adapter.js'
import { SourceError, type Version } from '../../../src/index.js'
import { Channel } from './channel.js'
import type { Commit, Item, Stored } from './history.js'
import { KEYLESS, type SimulatedSource } from './simulated-source.js'

/**
 * One list in progress: pages of a snapshot, or of a changing collection, whose last page repeats the changes since.
 */
export class ListStream extends Channel<ListPage<Item>> {
  readonly kind = 'list'
  readonly signal: AbortSignal
  readonly floor: Version | undefined
  readonly #source: SimulatedSource
  /** The commit that it shows; for a moving list, the commit of its first page. */
  #begun: Commit
  #isMoving = false
  readonly isAudit: boolean
  readonly nth: number
  /** The commit that it contains, and the version that it reported; undefined before its end. */
  shown: Commit | undefined
  reportedVersion: Version | undefined
  #isWhole = true
  #keys: readonly string[] = []
  #at = 0
  pages = 0

  constructor(source: SimulatedSource, { signal, floor: shown }: ListContext, isRefused = false) {
    super()
    this.#source = source
    this.signal = signal
    this.floor = shown
    this.isAudit = source.observer?.isAudit === true
    this.nth = source.lists
    this.#begun = source.scenario.history.head
    if (!isRefused) this.#later()
  }

  /** A list does not wait for new commits. */
  wake(): void {}

  override return(): ReturnType<Channel<ListPage<Item>>['return']> {
    if (this.#source.scenario.settings.ignoresAbort && !this.isOver) {
      this.isLeft = true
      return new Promise(() => {})
    }
    this.#source.closed(this)
    return super.return()
  }

  #later(): void {
    // Moving lists and audits are slow, so that other events happen during them.
    const latency = this.#source.latency() * (this.#isMoving ? 10 : 1) * (this.isAudit ? 20 : 1)
    this.#source.scenario.clock.in(latency, () => this.#next())
  }

  /** The fault before the next page: an error, `'silence'`, or undefined. */
  #fault(): unknown {
    const { history, settings, mark } = this.#source.scenario
    const { mix } = settings
    if (this.pages === 0 && mix.strikes('refuse-list')) return this.#source.transient('list')
    if (this.pages === 0 && mix.strikes('refuse-for-good')) return this.#source.fatal(this)
    if (mix.strikes('stall-list')) return 'silence'
    if (!this.isAudit && this.#source.auditWatch?.breaksRepair()) return this.#source.transient('list')
    if (mix.strikes('break-list')) {
      if (this.pages > 0) mark('a list broke off between two pages')
      return this.#source.transient('list')
    }
    if (this.pages > 0 && mix.strikes('expire-page')) {
      mark('the token of a page expired')
      return new SourceError('the page token expired', { code: 'VERSION_EXPIRED' })
    }
    if (this.#isMoving && history.head.epoch !== this.#begun.epoch)
      return new SourceError('the collection was restored', { code: 'EPOCH_CHANGED' })
    return undefined
  }

  #next(): void {
    if (this.isOver) return
    if (this.pages === 0) this.#begin()
    const fault = this.#fault()
    if (fault === 'silence') this.#source.scenario.note('the list falls silent')
    else if (fault !== undefined) this.#break(fault)
    else this.#page()
  }

  #begin(): void {
    const { history, settings } = this.#source.scenario
    const isStale = settings.mix.strikes('stale-list')
    this.#begun = isStale ? this.#earlier() : history.head
    this.#isMoving = !isStale && settings.mix.strikes('moving-list')
    this.#keys = [...this.#begun.state.keys()]
    if (this.#isMoving) this.#source.scenario.workload.inGap()
  }

  #page(): void {
    const { scenario } = this.#source
    const { pageSize } = scenario.settings
    const keys = this.#keys.slice(this.#at, this.#at + pageSize)
    this.#at += pageSize
    const isLast = this.#at >= this.#keys.length
    const { state } = this.#isMoving ? scenario.history.head : this.#begun
    const events: ListEvent<Item>[] = []
    for (const key of keys) {
      const stored = state.get(key)
      if (stored !== undefined) events.push(...this.#eventsOf(stored))
    }
    if (this.pages === 0 && this.#mayLeaveOut && scenario.settings.mix.strikes('keyless-in-list')) {
      events.push(KEYLESS)
      this.#source.observer?.emittedUseless()
    }
    // The reflector would delete nothing by such a list.
    if (this.isAudit && events.length > 0 && scenario.settings.mix.strikes('keyless-in-audit')) {
      events[0] = KEYLESS
      this.#isWhole = false
    }
    this.pages++
    if (!isLast) {
      this.#emitPage({ events })
      this.#later()
      return
    }
    const shown = this.#isMoving ? scenario.history.head : this.#begun
    this.shown = shown
    const last = this.#isMoving ? this.#caughtUpPage(events) : this.#lastPage(events)
    this.reportedVersion = last.version
    this.#emitPage(last)
    if (this.isAudit && !this.signal.aborted) this.#source.auditWatch?.read(shown, this.#isWhole)
    if (!this.isAudit) this.#source.hasListed = true
    scenario.note('the list ends', shown.version)
    this.end()
    this.#source.closed(this)
  }

  /** Of a key twice in a list the later event counts. */
  #eventsOf(stored: Stored): readonly ListEvent<Item>[] {
    const event = this.#source.eventOf(stored)
    if (!this.#source.scenario.settings.mix.strikes('earlier-in-list')) return [event]
    const earlier = this.#source.earlierEvent(stored, this.#begun)
    return earlier === undefined ? [event] : [earlier, event]
  }

  /** Whether a mirror of this list would delete nothing, so that an object without a key has no effect. */
  get #mayLeaveOut(): boolean {
    // With a source that breaks its promises, the store may have other keys than the history.
    if (this.#source.scenario.settings.isBreach) return false
    if (this.isAudit || this.#isMoving || this.signal.aborted) return false
    if (!this.#source.hasListed && !this.#source.hasRestored) return true
    if (this.floor === undefined) return false
    const { state } = this.#source.scenario.history.at(this.floor)
    return [...state.keys()].every((key) => this.#begun.state.has(key))
  }

  #emitPage(page: ListPage<Item>): void {
    this.emit(page)
    this.#source.observer?.emitted(this)
  }

  #lastPage(events: readonly ListEvent<Item>[]): ListPage<Item> {
    const { history, settings } = this.#source.scenario
    const { head } = history
    // A breach: an old snapshot under a new version.
    const isWrong = this.#begun.epoch === head.epoch && settings.mix.strikes('lie-in-list')
    return { events, version: isWrong ? head.version : this.#begun.version }
  }

  /** Pages were read at different commits. The last page repeats all changes since the first page. */
  #caughtUpPage(events: ListEvent<Item>[]): ListPage<Item> {
    const { history } = this.#source.scenario
    const { head } = history
    for (let at = this.#begun.sequence + 1; at <= head.sequence; at++) {
      for (const { key, stored } of history.inEpoch(at)?.mutations ?? [])
        events.push(stored === undefined ? { type: 'delete', key } : this.#source.eventOf(stored))
    }
    if (head !== this.#begun) this.#source.scenario.mark('the collection changed while it was listed')
    return { events, version: head.version }
  }

  /** A replica that is some transactions behind. */
  #earlier(): Commit {
    const { history, decisions, note } = this.#source.scenario
    const { head, first } = history
    const behind = decisions.below('stale by', 6)
    const sequence = Math.max(first.sequence, head.sequence - behind)
    note('a stale list', head.sequence - sequence)
    return history.inEpoch(sequence) ?? head
  }

  #break(error: unknown): void {
    this.#source.scenario.note('the list breaks', error instanceof SourceError ? error.code : 'without a code')
    this.#source.observer?.broke(this, error)
    this.#source.closed(this)
    this.fail(error)
  }
}

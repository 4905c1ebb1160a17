import type { WatchBatch, WatchContext, WatchEvent } from '../../../src/adapter.js'
import { SourceError, type Version } from '../../../src/index.js'
import { mix } from '../workload/random-decisions.js'
import { Channel } from './channel.js'
import type { FaultKind } from './fault-kinds.js'
import type { Commit, Item } from './history.js'
import type { SimulatedSource } from './simulated-source.js'

type Strikes = (kind: FaultKind) => boolean

/** One watch: all commits after a version, in order, bookmarks in between, and faults. */
export class WatchStream extends Channel<WatchBatch<Item>> {
  readonly kind = 'watch'
  readonly signal: AbortSignal
  readonly after: Version
  sent: Version | undefined
  readonly #source: SimulatedSource
  readonly #epoch: number
  readonly #start: number
  readonly #requestAudit: WatchContext['requestAudit']
  /** Whether the core reports that a caller waits for a version. */
  readonly hasWaiters: () => boolean | undefined
  /** All commits up to this sequence were sent. */
  #cursor: number
  #isBusy = false
  #isSilent = false
  #isProgressRequested = false
  #hasEmitted = false
  #stopBeating: () => void = () => {}
  #delivered: WatchBatch<Item> | undefined
  /** Transactions that are sent later than those after them: a breach. */
  #held: Commit[] = []

  constructor(source: SimulatedSource, { signal, after, onProgressRequest, hasWaiters, requestAudit }: WatchContext) {
    super()
    this.hasWaiters = () => hasWaiters?.()
    this.#requestAudit = requestAudit
    this.#source = source
    this.signal = signal
    this.after = after
    const { epoch, sequence } = source.scenario.history.at(after)
    this.#epoch = epoch
    this.#start = sequence
    this.#cursor = sequence
    onProgressRequest(() => {
      this.#isProgressRequested = true
      this.wake()
    })
  }

  /** Whether it is open and sends nothing any more, as behind a half-open connection. */
  get isSilent(): boolean {
    return this.#isSilent
  }

  begin(): void {
    this.#isProgressRequested = true
    this.wake()
  }

  wake(): void {
    if (this.#isBusy || this.isOver || this.#isSilent) return
    this.#stopBeating()
    if (!this.#hasChanges && !this.#isProgressRequested) {
      this.#stopBeating = this.#source.scenario.clock.in(this.#source.heartbeatMs, () => {
        this.#isProgressRequested = true
        this.wake()
      })
      return
    }
    this.#isBusy = true
    const occasion = this.#occasion()
    this.#source.scenario.clock.in(this.#source.latency(occasion), () => {
      this.#isBusy = false
      if (this.isOver || this.#isSilent) return
      this.#emitNext(occasion)
      this.wake()
    })
  }

  override return(): ReturnType<Channel<WatchBatch<Item>>['return']> {
    if (this.#source.scenario.settings.ignoresAbort && !this.isOver) {
      this.isLeft = true
      return new Promise(() => {})
    }
    this.#stopBeating()
    this.#source.closed(this)
    return super.return()
  }

  get #hasChanges(): boolean {
    const { head } = this.#source.scenario.history
    return head.epoch !== this.#epoch || head.sequence > this.#cursor
  }

  /** A number for the next commit to send; undefined if only a bookmark is due. */
  #occasion(): number | undefined {
    const commit = this.#source.scenario.history.inEpoch(this.#cursor + 1)
    return commit === undefined ? undefined : mix(commit.id + commit.deliveries++)
  }

  /** The fault now: an error, `'silence'`, `'end'`, or undefined. */
  #fault(strikes: Strikes): unknown {
    const { history, mark } = this.#source.scenario
    if (history.head.epoch !== this.#epoch)
      return new SourceError('the collection was restored', { code: 'EPOCH_CHANGED' })
    const isExpired = this.#source.isExpired && !this.isLeft
    if (isExpired) this.#source.isExpired = false
    const isDropped = strikes(this.#hasEmitted ? 'expire-live' : 'expire-watch')
    if (isExpired || isDropped || this.#cursor < history.compacted) {
      if (this.#hasEmitted) mark('the history was compacted under an open watch')
      return new SourceError('the history is gone', { code: 'VERSION_EXPIRED' })
    }
    if (!this.#hasEmitted && strikes('refuse-watch')) return this.#source.transient('watch')
    if (strikes('refuse-watch-for-good')) return this.#source.fatal(this)
    if (strikes('break-watch')) return this.#source.transient('watch')
    if (strikes('end-watch')) return 'end'
    return strikes('half-open') ? 'silence' : undefined
  }

  #emitNext(occasion: number | undefined): void {
    const { settings, note } = this.#source.scenario
    const strikes: Strikes = (kind) => settings.mix.strikes(kind, occasion)
    const fault = this.#fault(strikes)
    if (fault === 'silence') {
      note('the watch falls silent')
      this.#isSilent = true
    } else if (fault === 'end') {
      note('the watch ends')
      this.#source.observer?.broke(this, undefined)
      this.#source.closed(this)
      this.end()
    } else if (fault !== undefined) this.#break(fault)
    else this.#emitDue(strikes)
  }

  #emitDue(strikes: Strikes): void {
    if (!this.#hasEmitted && strikes('repeat-older')) this.#repeat(this.#start, 'repeat-older')
    if (this.#hasEmitted && strikes('repeat')) this.#repeat(this.#cursor, 'repeat')
    const pollsAgain = this.#source.scenario.settings.isPolled && strikes('poll-again')
    if (pollsAgain || strikes('repeat-batch')) this.#repeatBatch(strikes)
    if (!this.isLeft && strikes('doubt')) this.#sendAuditRequest()
    this.#isProgressRequested = false
    this.#hasEmitted = true
    if (this.#hasChanges) this.#emitCommits(strikes)
    else this.#bookmark()
  }

  #sendAuditRequest(): void {
    this.#source.observer?.auditRequested()
    this.#requestAudit?.('it may have been restored')
  }

  #bookmark(): void {
    const { history, settings, note } = this.#source.scenario
    this.#releaseHeld()
    this.#emit([], (history.inEpoch(this.#cursor) ?? history.head).version)
    if (settings.mix.strikes('break-after-bookmark')) {
      note('a break after a bookmark')
      this.#break(this.#source.transient('watch'))
    }
  }

  #emitCommits(strikes: Strikes): void {
    const { history, settings, decisions } = this.#source.scenario
    const commits: Commit[] = []
    const before = history.inEpoch(this.#cursor)
    const count = strikes('merge-transactions') ? 2 + decisions.below('merge', 3) : 1
    for (let at = this.#cursor + 1; commits.length < count; at++) {
      const commit = history.inEpoch(at)
      if (commit === undefined) break
      commits.push(commit)
    }
    const [first, last] = [commits[0], commits[commits.length - 1]]
    if (first === undefined || last === undefined) return
    this.#cursor = last.sequence
    if (settings.isBreach && this.#breaches(first, commits, strikes)) return
    const polled = settings.isPolled && before !== undefined
    const all = polled ? this.#polled(before, last, strikes) : commits.flatMap((each) => this.#source.eventsOf(each))
    const events = strikes('fold-transactions') ? lastOfEachKey(all) : all
    this.#delivered = { events: [...events], version: last.version }
    const absent = settings.isPolled ? undefined : settings.keys.find((key) => !last.state.has(key))
    if (absent !== undefined && strikes('delete-of-nothing')) events.push({ type: 'delete', key: absent })
    if (strikes('delete-again')) events.push(...this.#deleteAgain(last))
    events.push(...this.#source.uselessEvents(strikes))
    this.#emit(events, last.version)
    if (settings.isBreach) this.#releaseHeld()
  }

  /** A polled source sends its current state, once. Sometimes an unchanged object does not decode, not even its key. */
  #polled(before: Commit, last: Commit, strikes: Strikes): WatchEvent<Item>[] {
    const old = [...before.state.values()]
    // The mirror would delete nothing by such a batch.
    const mayHide = old.every(({ key }) => last.state.has(key))
    const unchanged = old.find((stored) => !stored.isInvalid && last.state.get(stored.key) === stored)
    const hidden = mayHide && unchanged !== undefined && strikes('keyless-in-poll') ? unchanged.key : undefined
    if (hidden !== undefined) this.#source.observer?.emittedUseless()
    return [...this.#source.polledEventsOf(last, before, hidden)]
  }

  /** Breaches of the contract. True if nothing else is sent of these transactions now. */
  #breaches(first: Commit, commits: readonly Commit[], strikes: Strikes): boolean {
    const { history, note } = this.#source.scenario
    if (strikes('lose-event')) {
      note('an event is lost', first.version)
      return true
    }
    if (first.mutations.some(({ stored }) => stored === undefined) && strikes('lose-delete')) {
      note('a delete is lost', first.version)
      return true
    }
    if (strikes('late-commit')) {
      note('a transaction becomes visible late', first.version)
      this.#held.push(...commits)
      return true
    }
    const next = history.inEpoch(this.#cursor + 1)
    if (next !== undefined && strikes('reorder')) {
      note('two transactions are told in the wrong order', first.version)
      this.#cursor = next.sequence
      this.#held.push(...commits)
      this.#emit(this.#source.eventsOf(next), next.version)
      return true
    }
    if (strikes('lie-in-bookmark')) {
      note('a bookmark lies', history.head.version)
      this.#emit([], history.head.version)
    }
    return false
  }

  #releaseHeld(): void {
    for (const commit of this.#held.splice(0)) this.#emit(this.#source.eventsOf(commit), commit.version)
  }

  /** Sends a commit again, or one from before this stream. */
  #repeat(upTo: number, kind: 'repeat' | 'repeat-older'): void {
    const { history, decisions, mark, note } = this.#source.scenario
    const commit = history.inEpoch(upTo - decisions.below('repeat', 3))
    if (commit === undefined || commit.mutations.length === 0) return
    note(kind, commit.version)
    if (kind === 'repeat-older') mark('an event older than the stream came')
    this.#emit(this.#source.eventsOf(commit), commit.version)
  }

  /** Sends the last batch again, if there is no later version. */
  #repeatBatch(strikes: Strikes): void {
    const { history, note } = this.#source.scenario
    const delivered = this.#delivered
    if (delivered === undefined || delivered.version !== history.inEpoch(this.#cursor)?.version) return
    note('repeats a batch', delivered.version)
    const useless = this.#source.scenario.settings.isPolled ? [] : this.#source.uselessEvents(strikes)
    this.#emit([...delivered.events, ...useless], delivered.version)
  }

  /** Sends a delete of an absent key again, with its last state. */
  #deleteAgain({ state }: Commit): readonly WatchEvent<Item>[] {
    const { history, settings, decisions, note } = this.#source.scenario
    const gone = settings.keys.filter((key) => !state.has(key) && history.lastOf(key)?.isInvalid === false)
    if (gone.length === 0 || !settings.sendsLastState) return []
    const key = decisions.pick('delete again', gone)
    const last = history.lastOf(key)
    if (last === undefined) return []
    note('tells of a deletion again')
    return [{ type: 'delete', key, object: last.item }]
  }

  #emit(events: readonly WatchEvent<Item>[], version: Version): void {
    this.sent = version
    this.emit({ events, version })
    this.#source.observer?.emitted(this)
  }

  #break(error: unknown): void {
    this.#source.scenario.note('the watch breaks', error instanceof SourceError ? error.code : 'without a code')
    this.#stopBeating()
    this.#source.observer?.broke(this, error)
    this.#source.closed(this)
    this.fail(error)
    this.#source.scenario.workload.inGap()
  }
}

function lastOfEachKey(events: readonly WatchEvent<Item>[]): WatchEvent<Item>[] {
  return events.filter((event, at) => !events.some((other, later) => later > at && keyOf(other) === keyOf(event)))
}

function keyOf(event: WatchEvent<Item>): string | undefined {
  return event.type === 'replace' ? undefined : event.key
}

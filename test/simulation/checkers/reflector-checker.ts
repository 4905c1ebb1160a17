import type { SourceError } from '../../../src/contract/errors.js'
import { LIST_STALL_MS } from '../../../src/contract/source.js'
import type { Version } from '../../../src/contract/version.js'
import type { ListStream } from '../backend/list-stream.js'
import { REFUSAL, type SourceObserver } from '../backend/simulated-source.js'
import type { WatchStream } from '../backend/watch-stream.js'
import type { SourceScenario } from '../system/scenario.js'
import { AuditPeriodChecker } from './audit-period-checker.js'
import { AuditRequestChecker } from './audit-request-checker.js'
import { ResumeChecker } from './resume-checker.js'

type Stream = ListStream | WatchStream

const FIRST_MS = 800
const CEILING_MS = 30_000
const AFTER_ERROR_MS = 800
/** A watch that was live for this long resets the spacing. */
const STABLE_MS = 1_000
/** The first reconnect after a break opens within this, at most once in the other. */
const FIRST_RECONNECT_MS = 200
const FIRST_RECONNECT_EVERY_MS = 10_000
/** How long it takes at most until the source is read again for what was left out; opens may be far apart then. */
const BEFORE_LONG_MS = 5 * 60_000 + 2 * CEILING_MS
/** How late an open, or the end of a silent stream, may be beyond what the rules say. */
const SLACK_MS = 2
/** How often our own code looks at a clock before it opens, at most; each look takes time where it is slow. */
const CLOCK_READS = 60

/** After these there is no reconnect at once. */
const DELAYED = new Set<string>([
  'VERSION_EXPIRED',
  'EPOCH_CHANGED',
  'STALE_LIST',
  'UNAUTHORIZED',
  'NOT_FOUND',
  'PROTOCOL',
])

/** Why the next open comes, and when that was known. */
interface Cause {
  readonly at: number
  readonly error: SourceError | undefined
}

/**
 * Judges a reflector by its opens alone, by the rules as SPEC.md states them: opens are spaced, after an error not too
 * soon and not too late, a watch that was live for 1 s resets it, silence ends a stream, nothing is listed again
 * whose history is still there, and each goes on from where its sink is.
 */
export class ReflectorChecker implements SourceObserver {
  readonly #scenario: SourceScenario
  /** Whether moments are known to the millisecond: our own code takes no time, and the sink neither. */
  readonly #isExact: boolean
  /** What the reflector is doing. */
  readonly #state: () => string | undefined
  readonly #auditRequests: AuditRequestChecker
  readonly #auditPeriods: AuditPeriodChecker
  readonly #resumeChecker: ResumeChecker
  #spacing = FIRST_MS
  #openedAt: number | undefined
  #liveAt: number | undefined
  /** How many batches the watch has brought. */
  #batches = 0
  #emittedAt = 0
  #stream: Stream | undefined
  #isListed = false
  #cause: Cause | undefined
  #mayList = true
  #skippedAt = -1
  /** Until when the source may be read again because of something useless, and by when it must be. */
  #mayListUntil = -1
  #mustListBy: number | undefined
  /** How many lists the reflector began. */
  lists = 0
  #relistsWhenListed = false
  #mustList = false
  /** Nobody knows whether the sink has accepted a batch of the watch that broke. */
  #isLiveUnclear = false
  #wasFatal = false
  /** The last open was a watch that followed no list. */
  #isReopened = false
  /** The stream that broke had said something. */
  #wasLive = false
  /** When the last reconnect without a delay was made. */
  #immediateAt = -Infinity
  #isStopped = false

  constructor(
    scenario: SourceScenario,
    isExact: boolean,
    accepted: () => Version | undefined,
    state: () => string | undefined = () => 'listing',
    isAuditing = (): boolean => false,
  ) {
    this.#scenario = scenario
    this.#state = state
    this.#auditRequests = new AuditRequestChecker(scenario, () => state() === 'live', isAuditing)
    this.#auditPeriods = new AuditPeriodChecker(scenario, () => state() === 'live', isAuditing)
    this.#resumeChecker = new ResumeChecker(scenario, accepted)
    this.#isExact = isExact
  }

  /** Whether a list that is opened now is an audit's, which keeps no order with other opens. */
  get isAudit(): boolean {
    return this.#state()?.endsWith('listing') !== true
  }

  /** Whether nothing is open, and the next open is to come. */
  get isBetween(): boolean {
    return this.#cause !== undefined || this.#openedAt === undefined
  }

  opened(what: 'list' | 'watch', stream: Stream): void {
    const now = this.#scenario.clock.elapsed
    if (what === 'list' && this.isAudit) {
      this.#scenario.note('an audit lists')
      return
    }
    this.#scenario.note(`opens a ${what}`)
    this.#resumeChecker.opened(stream)
    if (what === 'watch' && this.#mustList)
      this.#scenario.violate('access', 'access was lost, the objects were deleted, and the watch goes on')
    const follows = what === 'watch' && this.#isListed && this.#cause === undefined
    if (!follows) this.#reopened(what, now)
    if (what === 'list') {
      this.lists++
      this.#mayList = false
      this.#relistsWhenListed = false
      if (this.#mustListBy !== undefined) this.#scenario.mark('the source was read again for what was left out')
      this.#mustListBy = undefined
    }
    this.#isListed = false
    this.#stream = stream
    this.#emittedAt = now
    this.#liveAt = undefined
    this.#batches = 0
    this.#isLiveUnclear = false
    this.#cause = undefined
  }

  emitted(stream: Stream): void {
    if (stream !== this.#stream) return
    this.#emittedAt = this.#scenario.clock.elapsed
    if (stream.kind === 'watch') {
      this.#liveAt ??= this.#emittedAt
      this.#batches++
      if (this.#wasFatal) this.#scenario.mark('a fatal error, then a recovery')
      this.#wasFatal = false
    }
  }

  auditRequested(): void {
    this.#auditRequests.auditRequested()
  }

  audited(): void {
    this.#auditRequests.audited()
    this.#auditPeriods.began()
  }

  auditFailed(): void {
    this.#auditRequests.failed()
  }

  emittedUseless(): void {
    this.#mayListUntil = this.#scenario.clock.elapsed + BEFORE_LONG_MS
  }

  /** It was noticed that something was left out. */
  leftOut(): void {
    this.#mustListBy ??= this.#scenario.clock.elapsed + BEFORE_LONG_MS
    this.#scenario.mark('something that nobody understands was left out')
  }

  /** Whether it is known that the source has to be read again. */
  get isIncomplete(): boolean {
    return this.#mustListBy !== undefined
  }

  broke(stream: Stream, error: unknown): void {
    // An end is known at once; an error when the reflector reports it.
    if (stream === this.#stream && error === undefined)
      this.#because({ at: this.#scenario.clock.elapsed, error: undefined })
  }

  /** The reflector has committed a list. */
  listed(): void {
    this.#isListed = true
    this.#mustList = false
    this.#resumeChecker.listed()
    if (this.#relistsWhenListed) this.#because({ at: this.#scenario.clock.elapsed, error: undefined })
  }

  /** The reflector has reported an error. */
  failed(error: SourceError): void {
    const { mark, clock, violate } = this.#scenario
    let isFatal = false
    if (error.phase === 'apply') this.#sinkFailed()
    if (error.code === 'EPOCH_CHANGED') this.#resumeChecker.forked()
    switch (error.code) {
      case 'VERSION_EXPIRED':
      case 'EPOCH_CHANGED':
      case 'STALE_LIST':
        this.#mayList = true
        break
      case 'UNAUTHORIZED':
      case 'NOT_FOUND':
      case 'PROTOCOL':
        isFatal = true
        if (error.code === 'PROTOCOL' && !error.message.includes(REFUSAL))
          violate('opens', `the source was taken for one that cannot be understood: ${error.message}`)
        break
      default:
    }
    if (error.code === 'STALE_LIST') mark('a list was refused as stale')
    if (error.message.includes('no page for')) mark('a list was cut off by its time-out')
    if (error.message.includes('no data for')) mark('a silent watch was cut off by its time-out')
    if (this.#stream?.kind === 'list' && !this.#isListed) this.#mayList = true
    this.#because({ at: clock.elapsed, error })
    this.#wasFatal ||= isFatal
  }

  /** The objects were deleted because access was lost: only a list brings them back. */
  accessLost(): void {
    this.#mayList = true
    this.#mustList = true
  }

  /** Somebody wants the source read again, while the reflector is in this state. */
  relistRequested(state: string): void {
    this.#mayList = true
    if (state === 'listing' || state === 'relisting') {
      this.#relistsWhenListed = true
      this.#scenario.mark('a relist was asked for during a list')
    } else if (state === 'connecting' || state === 'live') {
      this.#because({ at: this.#scenario.clock.elapsed, error: undefined })
    }
  }

  /** Time went by in which nobody could act. */
  skipped(): void {
    this.#skippedAt = this.#scenario.clock.elapsed
    this.#auditRequests.skipped()
    this.#auditPeriods.skipped()
    if (this.#mustListBy !== undefined) this.#mustListBy = this.#skippedAt + BEFORE_LONG_MS
    this.#mayListUntil = Math.max(this.#mayListUntil, this.#skippedAt + BEFORE_LONG_MS)
  }

  /** Nothing is to be judged any more. */
  stopped(): void {
    this.#stream = undefined
    this.#mustListBy = undefined
    this.#auditRequests.stopped()
    this.#isStopped = true
  }

  /** A stream that says nothing must be given up in time. */
  checkStep(): void {
    this.#auditRequests.checkStep()
    if (!this.#isStopped) this.#auditPeriods.checkStep()
    if (this.#scenario.clock.elapsed > (this.#mustListBy ?? Infinity))
      this.#scenario.violate('opens', 'something was left out long ago, and the source was not read again')
    const stream = this.#stream
    if (stream === undefined || this.#cause !== undefined || this.#isListed) return
    // It was told to end, for a reason that nobody is told.
    if (stream.signal.aborted) return
    const { clock, settings, violate } = this.#scenario
    const limit = stream.kind === 'list' ? LIST_STALL_MS : 2 * settings.heartbeatMs + 5_000
    if (clock.elapsed <= this.#emittedAt + limit + SLACK_MS || !this.#isExact || this.#skippedAt > this.#emittedAt)
      return
    violate('opens', `the ${stream.kind} has been silent for ${clock.elapsed - this.#emittedAt} ms and is still open`)
  }

  #because(cause: Cause): void {
    if (this.#cause !== undefined) return
    const isAnswer = cause.error === undefined || isExpiry(cause.error)
    const contactAt = isAnswer ? cause.at : this.#emittedAt
    if (this.#liveAt !== undefined) this.#outlived(contactAt - this.#liveAt)
    this.#wasLive = this.#liveAt !== undefined
    this.#cause = cause
  }

  #sinkFailed(): void {
    // The reflector waited for the sink, and has not seen that the stream ended meanwhile.
    if (this.#cause?.error === undefined) this.#cause = undefined
    // A watch is live once the sink has accepted its first batch.
    if (this.#batches <= 1) this.#liveAt = undefined
    // Of several batches at its first moment nobody knows which one was refused.
    else this.#isLiveUnclear = this.#liveAt === this.#scenario.clock.elapsed
  }

  #outlived(livedMs: number): void {
    if (livedMs >= STABLE_MS) this.#spacing = FIRST_MS
  }

  /** The server answered a reopened watch that its version cannot be resumed: the list is part of the same open. */
  get #isAnswered(): boolean {
    return this.#isReopened && this.#cause?.error !== undefined && isExpiry(this.#cause.error)
  }

  /** Whether the open that this cause leads to may come at once: yes, no, or either, as moments are not known exactly. */
  get #isImmediate(): boolean | undefined {
    const { at = 0, error } = this.#cause ?? {}
    if (error === undefined || error.retryAfterMs !== undefined || DELAYED.has(error.code)) return false
    if (this.#isLiveUnclear) return undefined
    if (this.#stream?.kind !== 'watch' || (this.#isReopened && !this.#wasLive)) return false
    const apart = at - this.#immediateAt - FIRST_RECONNECT_EVERY_MS
    const unsureMs = this.#isExact ? SLACK_MS : FIRST_RECONNECT_EVERY_MS
    return Math.abs(apart) <= unsureMs ? undefined : apart > 0
  }

  #reopened(what: 'list' | 'watch', now: number): void {
    const { violate, mark } = this.#scenario
    if (what === 'list' && !this.#mayList && now > this.#mayListUntil)
      violate('opens', 'it lists again, and the history is still there')
    const isUnannounced = this.#cause === undefined && now <= this.#mayListUntil
    if (isUnannounced && this.#liveAt !== undefined) this.#outlived(now - this.#liveAt)
    if (this.#openedAt !== undefined) {
      this.#checkSpacing(now, this.#openedAt)
      if (this.#wasImmediate(now)) {
        this.#immediateAt = now
        mark('the first reconnect after a break came at once')
      } else this.#spacing = Math.min(2 * this.#spacing, CEILING_MS)
      if (this.#spacing === CEILING_MS) mark('the opens were as far apart as they get')
    }
    this.#openedAt = now
    this.#isReopened = what === 'watch'
  }

  /** Whether the open that is made now comes at once. */
  #wasImmediate(now: number): boolean {
    const isEarly = now - (this.#cause?.at ?? now) <= FIRST_RECONNECT_MS + SLACK_MS
    return this.#isImmediate ?? isEarly
  }

  #checkSpacing(now: number, openedAt: number): void {
    const { violate, note } = this.#scenario
    const cause = this.#cause ?? { at: this.#emittedAt, error: undefined }
    const spacing = this.#isExact ? this.#spacing : FIRST_MS
    let earliest = this.#isAnswered ? cause.at : openedAt + spacing / 2
    let latest = this.#isAnswered ? cause.at : Math.max(cause.at, openedAt + spacing)
    // A relist for what was left out comes when it is due, which nobody is told.
    if (this.#cause === undefined && now <= this.#mayListUntil) latest = now
    if (cause.error !== undefined) {
      const after = cause.error.retryAfterMs ?? 0
      earliest = Math.max(earliest, cause.at + AFTER_ERROR_MS / 2, cause.at + after)
      latest = Math.max(latest, cause.at + AFTER_ERROR_MS, cause.at + after)
    }
    const isImmediate = this.#isImmediate
    if (isImmediate !== false) earliest = cause.at
    if (isImmediate === true) latest = cause.at + FIRST_RECONNECT_MS
    const since = `${Math.round(now - openedAt)} ms after the last open`
    note('opens again', Math.round(now - openedAt), spacing)
    const slackMs = SLACK_MS + CLOCK_READS * this.#scenario.settings.driftMs
    if (now < earliest - slackMs) violate('opens', `too soon: ${since}, ${Math.round(earliest - openedAt)} at least`)
    if (this.#isExact && now > latest + SLACK_MS && this.#skippedAt < openedAt)
      violate('opens', `too late: ${since}, ${Math.round(latest - openedAt)} at most`)
  }
}

function isExpiry({ code }: SourceError): boolean {
  return code === 'VERSION_EXPIRED' || code === 'EPOCH_CHANGED'
}

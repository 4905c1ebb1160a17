import { LIST_STALL_MS } from '../../../src/contract/source.js'
import type { SourceError, Version } from '../../../src/index.js'
import type { ListStream } from '../backend/list-stream.js'
import { REFUSAL } from '../backend/simulated-source.js'
import type { WatchStream } from '../backend/watch-stream.js'
import type { SourceScenario } from '../system/scenario.js'
import { AuditTimeChecker } from './audit-time-checker.js'
import { nowhere, VersionOrderChecker } from './version-order-checker.js'

type Stream = ListStream | WatchStream

const FIRST_MS = 800
const CEILING_MS = 30_000
const AFTER_ERROR_MS = 800
/** A watch that was live for this long resets the spacing. */
const STABLE_MS = 1_000
/** The first reconnect after a break opens within this, at most once in the other. */
const FIRST_RECONNECT_MS = 200
const FIRST_RECONNECT_EVERY_MS = 10_000
/** The least time between a list and the list for events that were left out. */
const INCOMPLETE_MS = 5 * 60_000
/** The longest time until the source is listed again for left-out events; opens may be far apart then. */
const BEFORE_LONG_MS = INCOMPLETE_MS + 2 * CEILING_MS
/** The longest time for which an immediate reconnect, or a longer spacing, has an effect. */
const UNSURE_MS = 120_000
const SLACK_MS = 2
/** The largest number of clock reads before an open; each read takes time if the clock drifts. */
const CLOCK_READS = 60

/** Codes without an immediate reconnect. */
const DELAYED = new Set<string>('VERSION_EXPIRED EPOCH_CHANGED STALE_LIST UNAUTHORIZED NOT_FOUND PROTOCOL'.split(' '))

type Cause = { readonly at: number; readonly error: SourceError | undefined }

/**
 * Checks a reflector by its opens alone, with the rules of SPEC.md. Opens are spaced, after an error neither too early
 * nor too late. A watch that was live for 1 s resets the spacing. Silence ends a stream. The source is not listed again
 * while its history exists. Each open resumes from the version of the sink.
 */
export class ReflectorChecker {
  readonly #scenario: SourceScenario
  /** Whether times are exact to the millisecond: code and sink take no time. */
  readonly #isExact: boolean
  readonly #state: () => string | undefined
  readonly #audits: AuditTimeChecker
  readonly #accepted: () => Version | undefined
  #resumes: VersionOrderChecker
  /** Whether the history of the store is over, and no list of the next one is complete. */
  #isForked = false
  #spacing = FIRST_MS
  #openedAt: number | undefined
  #liveAt: number | undefined
  #batches = 0
  #emittedAt = 0
  #stream: Stream | undefined
  #isListed = false
  #cause: Cause | undefined
  #mayList = true
  #skippedAt = -1
  /** The time until which the source may be listed again for an unusable event, and the time by which it must be. */
  #mayListUntil = -1
  /** The earliest time of that list. */
  #mayListFrom = -Infinity
  #listOpenedAt = -Infinity
  #listedAt = -Infinity
  #mustListBy: number | undefined
  lists = 0
  #relistsWhenListed = false
  #mustList = false
  /** It is unknown whether the sink accepted a batch of the failed watch. */
  #isLiveUnclear = false
  #isRelistRequested = false
  /** Until then it is unknown which delays count, because it was unknown why an earlier watch ended. */
  #unsureUntil = -Infinity
  #wasFatal = false
  #isReopened = false
  /** Whether the failed stream had sent something. */
  #wasLive = false
  #immediateAt = -Infinity
  #isStopped = false
  #hasHeard = false
  #isRestoring = false
  /** Whether opens before the confirmation of saved content still have an effect on the spacing. */
  #isSpacingUnknown = false
  #isRelistWanted = false

  constructor(
    scenario: SourceScenario,
    isExact: boolean,
    accepted: () => Version | undefined,
    state: () => string | undefined,
    isAuditing: () => boolean,
  ) {
    this.#scenario = scenario
    this.#state = state
    this.#audits = new AuditTimeChecker(scenario, () => state() === 'live', isAuditing)
    this.#accepted = accepted
    this.#resumes = new VersionOrderChecker(scenario, 'the resume point')
    this.#isExact = isExact
  }

  /** Whether a list that is opened now belongs to an audit, which is independent of other opens. */
  get isAudit(): boolean {
    const state = this.#state()
    // No audit reads the source before it has confirmed saved content.
    return state !== 'stale' && state?.endsWith('listing') !== true
  }

  /** Whether the source has sent a batch or a whole list. */
  get hasHeard(): boolean {
    return this.#hasHeard
  }

  /** It begins with saved content. Its opens are spaced by rules of their own, until the source has confirmed that. */
  restoring(): void {
    this.#isRestoring = true
  }

  restorable(): void {
    this.#mayList = this.#isRelistWanted
    this.#isSpacingUnknown = true
  }

  /** A page of saved content was read. That time does not count as silence of the source. */
  contentRead(): void {
    this.#emittedAt = this.#scenario.clock.elapsed
  }

  /** Saved content cannot be used: the source is listed at once. */
  unrestorable(): void {
    this.#mayList = true
  }

  /** Whether no stream is open, and the next open is due. */
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
    this.#checkResume(stream, this.lists === 0)
    if (what === 'watch' && this.#mustList)
      this.#scenario.violate('access', 'access was lost, the objects were deleted, and the watch continues')
    const follows = what === 'watch' && this.#isListed && this.#cause === undefined
    if (!follows) this.#reopened(what, now)
    if (what === 'list') {
      this.#listOpenedAt = now
      this.lists++
      this.#mayList = false
      this.#relistsWhenListed = false
      if (this.#mustListBy !== undefined)
        this.#scenario.mark('the source was listed again for events that were left out')
      this.#mustListBy = undefined
    }
    this.#isListed = false
    this.#stream = stream
    this.#emittedAt = now
    this.#liveAt = undefined
    this.#batches = 0
    this.#isLiveUnclear = false
    this.#isRelistRequested = false
    this.#cause = undefined
  }

  /**
   * It resumes from the last version that its sink accepted, neither later, which would lose changes, nor earlier (I10).
   * A list receives the version that readers have seen, and may not be older (I11). `isFirst`: no reader has seen the
   * saved content from which a watch was to resume, unless the list has a floor.
   */
  #checkResume(stream: Stream, isFirst: boolean): void {
    const accepted = this.#accepted()
    if (stream.kind === 'watch') {
      this.#resumes.at(stream.after)
      if (stream.after !== accepted)
        this.#scenario.violate('I10', `a watch begins after ${stream.after}, and the sink is at ${accepted ?? nowhere}`)
      return
    }
    if (stream.floor === undefined) {
      if (isFirst) this.#resumes = new VersionOrderChecker(this.#scenario, 'the resume point')
      return
    }
    if (this.#isForked) this.#scenario.violate('I11', `a list has the floor ${stream.floor}, whose history is over`)
    // The objects were deleted because access was lost; the next list may still not be older.
    else if (accepted === undefined && this.#scenario.settings.clears) this.#resumes.at(stream.floor)
    else if (stream.floor !== accepted)
      this.#scenario.violate('I11', `a list has the floor ${stream.floor}, and the sink is at ${accepted ?? nowhere}`)
  }

  emitted(stream: Stream): void {
    if (stream !== this.#stream) return
    // A batch that is older than saved content does not confirm it.
    const { history } = this.#scenario
    if (stream.kind === 'watch' && history.indexOf(stream.sent ?? stream.after) >= history.indexOf(stream.after))
      this.#heard()
    this.#emittedAt = this.#scenario.clock.elapsed
    if (stream.kind === 'watch') {
      this.#liveAt ??= this.#emittedAt
      this.#batches++
      if (this.#wasFatal) this.#scenario.mark('a fatal error, then a recovery')
      this.#wasFatal = false
    }
  }

  auditRequested(): void {
    this.#audits.requested()
  }

  audited(): void {
    this.#audits.began()
  }

  auditFailed(): void {
    this.#audits.failed()
  }

  emittedUseless(): void {
    const now = this.#scenario.clock.elapsed
    this.#mayListUntil = now + BEFORE_LONG_MS
    const from = (this.#stream?.kind === 'list' ? now : this.#listedAt) + INCOMPLETE_MS
    // A list that is due already may still have to wait.
    if (this.#mayListFrom > now) this.#mayListFrom = Math.min(this.#mayListFrom, from)
    else if (this.#listOpenedAt > this.#mayListFrom) this.#mayListFrom = from
  }

  /** It may be listed again at once: another source has released a key. */
  released(): void {
    this.#mayListUntil = this.#scenario.clock.elapsed + BEFORE_LONG_MS
    this.#mayListFrom = -Infinity
  }

  /** It may be listed again at once, if the head proves that the history of saved content is over. */
  headRead(head: Version): void {
    const [epoch] = this.#accepted()?.split('.') ?? []
    if (this.#state() === 'stale' && epoch !== head.split('.')[0]) this.released()
  }

  leftOut(): void {
    this.#mustListBy ??= this.#scenario.clock.elapsed + BEFORE_LONG_MS
    this.#scenario.mark('an event of an unknown type was left out')
  }

  get isIncomplete(): boolean {
    return this.#mustListBy !== undefined
  }

  broke(stream: Stream, error: unknown): void {
    // An end is known at once, an error when the reflector reports it.
    if (stream === this.#stream && error === undefined)
      this.#because({ at: this.#scenario.clock.elapsed, error: undefined })
  }

  #heard(): void {
    this.#hasHeard = true
    if (this.#isRestoring) this.#unsureUntil = this.#scenario.clock.elapsed + UNSURE_MS
    this.#isRestoring = false
  }

  listed(): void {
    this.#heard()
    this.#isListed = true
    this.#listedAt = this.#scenario.clock.elapsed
    this.#mustList = false
    this.#isForked = false
    if (this.#relistsWhenListed) this.#because({ at: this.#scenario.clock.elapsed, error: undefined })
  }

  failed(error: SourceError): void {
    const { mark, clock, violate } = this.#scenario
    let isFatal = false
    if (error.phase === 'apply') this.#sinkFailed()
    if (error.code === 'EPOCH_CHANGED') this.#isForked = true
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
    if (error.message.includes('no page for')) mark('a list timed out')
    if (error.message.includes('no data for')) mark('a silent watch timed out')
    if (/no (page|data) for/.test(error.message)) this.#checkSilence()
    if (this.#stream?.kind === 'list' && !this.#isListed) this.#mayList = true
    // Saved content that no reader has seen is dropped, as objects that readers see are deleted.
    if (this.#isRestoring && error.code === 'UNAUTHORIZED' && this.#scenario.settings.clears) this.#mayList = true
    this.#because({ at: clock.elapsed, error })
    this.#wasFatal ||= isFatal
  }

  /** The objects were deleted because access was lost: only a list brings them back. */
  accessLost(): void {
    this.#mayList = true
    this.#mustList = true
  }

  relistRequested(state: string): void {
    this.#mayList = true
    this.#isRelistWanted = true
    if (state === 'listing' || state === 'relisting') {
      this.#relistsWhenListed = true
      this.#scenario.mark('a relist was requested during a list')
    } else if (state === 'connecting' || state === 'live') {
      this.#isRelistRequested = true
      this.#because({ at: this.#scenario.clock.elapsed, error: undefined })
    }
  }

  skipped(): void {
    this.#skippedAt = this.#scenario.clock.elapsed
    this.#audits.skipped()
    if (this.#mustListBy !== undefined) this.#mustListBy = this.#skippedAt + BEFORE_LONG_MS
    this.#mayListUntil = Math.max(this.#mayListUntil, this.#skippedAt + BEFORE_LONG_MS)
  }

  stopped(): void {
    this.#stream = undefined
    this.#mustListBy = undefined
    this.#isStopped = true
  }

  checkStep(): void {
    if (!this.#isStopped) this.#audits.checkStep()
    if (this.#scenario.clock.elapsed > (this.#mustListBy ?? Infinity))
      this.#scenario.violate('opens', 'an event was left out long ago, and the source was not listed again')
    const stream = this.#stream
    if (stream === undefined || this.#cause !== undefined || this.#isListed) return
    // It was aborted, for a reason that is not reported.
    if (stream.signal.aborted) return
    const { clock, violate } = this.#scenario
    if (
      clock.elapsed <= this.#emittedAt + this.#silenceMs() + SLACK_MS ||
      !this.#isExact ||
      this.#skippedAt > this.#emittedAt
    )
      return
    violate('opens', `the ${stream.kind} has been silent for ${clock.elapsed - this.#emittedAt} ms and is still open`)
  }

  /** The silent time of a stream: from its last batch or page, or from the end of the sink's work with it. */
  #silenceMs(): number {
    return this.#stream?.kind === 'list' ? LIST_STALL_MS : 2 * this.#scenario.settings.heartbeatMs + 5_000
  }

  #checkSilence(): void {
    const { clock, settings, violate } = this.#scenario
    const silentMs = clock.elapsed - this.#emittedAt
    if (silentMs < this.#silenceMs() - SLACK_MS - CLOCK_READS * settings.driftMs)
      violate('opens', `the ${this.#stream?.kind} was silent for ${silentMs} ms, and was ended`)
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
    // Of several batches at the same time, it is unknown which one was rejected.
    else this.#isLiveUnclear = this.#liveAt === this.#scenario.clock.elapsed
  }

  #outlived(livedMs: number): void {
    if (livedMs < STABLE_MS) return
    this.#spacing = FIRST_MS
    this.#isSpacingUnknown = false
  }

  /** The watch ended for a relist, at an unknown time if the spacing delayed that relist. */
  #outlivedUnannounced(now: number, liveAt: number): void {
    const isDelayed = this.#openedAt !== undefined && now <= this.#openedAt + this.#spacing + SLACK_MS
    if (!isDelayed) this.#outlived(now - liveAt)
    else if (now - liveAt >= STABLE_MS) this.#isSpacingUnknown = true
  }

  /** The server rejected the version of a reopened watch: the list belongs to the same open. */
  get #isAnswered(): boolean {
    return this.#isReopened && this.#cause?.error !== undefined && isExpiry(this.#cause.error)
  }

  /** Whether the next open may be immediate: yes, no, or undefined if times are not exact. */
  get #isImmediate(): boolean | undefined {
    const { at = 0, error } = this.#cause ?? {}
    if (error === undefined || error.retryAfterMs !== undefined || DELAYED.has(error.code)) return false
    // The reflector waited for the sink. If that fails after a relist was requested, either may be the reason.
    if (this.#isLiveUnclear || (this.#isRelistRequested && error.phase === 'apply')) return undefined
    if (this.#stream?.kind !== 'watch' || (this.#isReopened && !this.#wasLive)) return false
    const apart = at - this.#immediateAt - FIRST_RECONNECT_EVERY_MS
    const unsureMs = this.#isExact ? SLACK_MS : FIRST_RECONNECT_EVERY_MS
    return Math.abs(apart) <= unsureMs ? undefined : apart > 0
  }

  #reopened(what: 'list' | 'watch', now: number): void {
    const { violate, mark } = this.#scenario
    const slowMs = SLACK_MS + CLOCK_READS * this.#scenario.settings.driftMs
    if (what === 'list' && !this.#mayList && (now > this.#mayListUntil || now < this.#mayListFrom - slowMs))
      violate('opens', 'it lists again, and the history is still there')
    const isUnannounced = this.#cause === undefined && now <= this.#mayListUntil
    if (isUnannounced && this.#liveAt !== undefined) this.#outlivedUnannounced(now, this.#liveAt)
    if (this.#isRelistRequested && this.#cause?.error?.phase === 'apply') this.#unsureUntil = now + UNSURE_MS
    if (this.#openedAt !== undefined) {
      if (now > this.#unsureUntil && !this.#isRestoring && !this.#isSpacingUnknown)
        this.#checkSpacing(now, this.#openedAt)
      if (this.#wasImmediate(now)) {
        // It counts from its due time, which may be before a suspension.
        this.#immediateAt = Math.min(now, (this.#cause?.at ?? now) + FIRST_RECONNECT_MS)
        mark('the first reconnect after a break came at once')
      } else this.#spacing = Math.min(2 * this.#spacing, CEILING_MS)
      if (this.#spacing === CEILING_MS) mark('the spacing of opens was at its maximum')
    }
    this.#openedAt = now
    this.#isReopened = what === 'watch'
  }

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
    // The time of a relist for left-out events is not reported.
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

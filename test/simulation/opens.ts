import type { SourceError } from '../../src/errors.js'
import { LIST_STALL_MS } from '../../src/source.js'
import type { Version } from '../../src/version.js'
import { Doubts } from './doubts.js'
import type { ListStream } from './list-stream.js'
import { Resumption } from './resumption.js'
import { Rhythm } from './rhythm.js'
import { type Opens, REFUSAL } from './simulated-source.js'
import type { Stage } from './stage.js'
import type { WatchStream } from './watch-stream.js'

type Stream = ListStream | WatchStream

const FIRST_MS = 800
const CEILING_MS = 30_000
const AFTER_ERROR_MS = 800
/** How long it takes at most until the source is read again for what was left out; opens may be far apart then. */
const BEFORE_LONG_MS = 5 * 60_000 + 2 * CEILING_MS
/** How late an open, or the end of a silent stream, may be beyond what the rules say. */
const SLACK_MS = 2
/** How often our own code looks at a clock before it opens, at most; each look takes time where it is slow. */
const LOOKS = 60

/** Why the next open comes, and when that was known. */
interface Cause {
  readonly at: number
  readonly error: SourceError | undefined
}

/**
 * Judges a reflector by its opens alone, by the rules as SPEC.md states them: opens are spaced, after an error not too
 * soon and not too late, a stream that outlived the spacing resets it, silence ends a stream, nothing is listed again
 * whose history is still there, and each goes on from where its sink is.
 */
export class OpensJudge implements Opens {
  readonly #stage: Stage
  /** Whether moments are known to the millisecond: our own code takes no time, and the sink neither. */
  readonly #isExact: boolean
  /** What the reflector is doing. */
  readonly #state: () => string | undefined
  readonly #doubts: Doubts
  readonly #rhythm: Rhythm
  readonly #resumption: Resumption
  #spacing = FIRST_MS
  #openedAt: number | undefined
  #liveAt: number | undefined
  #saidAt = 0
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
  #wasFatal = false
  /** What has no quick retry was the cause. */
  #isRefused = false
  #isStopped = false

  constructor(
    stage: Stage,
    isExact: boolean,
    accepted: () => Version | undefined,
    state: () => string | undefined = () => 'listing',
    isAuditing = (): boolean => false,
  ) {
    this.#stage = stage
    this.#state = state
    this.#doubts = new Doubts(stage, () => state() === 'live', isAuditing)
    this.#rhythm = new Rhythm(stage, () => state() === 'live', isAuditing)
    this.#resumption = new Resumption(stage, accepted)
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
    const now = this.#stage.clock.elapsed
    if (what === 'list' && this.isAudit) {
      this.#stage.note('an audit lists')
      return
    }
    this.#stage.note(`opens a ${what}`)
    this.#resumption.opened(stream)
    const follows = what === 'watch' && this.#isListed && this.#cause === undefined
    if (!follows) this.#openedAnew(what, now)
    if (what === 'list') {
      this.lists++
      this.#mayList = false
      this.#relistsWhenListed = false
      if (this.#mustListBy !== undefined) this.#stage.mark('the source was read again for what was left out')
      this.#mustListBy = undefined
    }
    this.#isListed = false
    this.#stream = stream
    this.#saidAt = now
    this.#liveAt = undefined
    this.#cause = undefined
  }

  said(stream: Stream): void {
    if (stream !== this.#stream) return
    this.#saidAt = this.#stage.clock.elapsed
    if (stream.kind === 'watch') {
      this.#liveAt ??= this.#saidAt
      if (this.#wasFatal) this.#stage.mark('a fatal error, then a recovery')
      this.#wasFatal = false
    }
  }

  doubted(): void {
    this.#doubts.doubted()
  }

  audited(): void {
    this.#doubts.audited()
    this.#rhythm.began()
  }

  auditFailed(): void {
    this.#doubts.failed()
  }

  muttered(): void {
    this.#mayListUntil = this.#stage.clock.elapsed + BEFORE_LONG_MS
  }

  /** It was noticed that something was left out. */
  leftOut(): void {
    this.#mustListBy ??= this.#stage.clock.elapsed + BEFORE_LONG_MS
    this.#stage.mark('something that nobody understands was left out')
  }

  /** Whether it is known that the source has to be read again. */
  get isIncomplete(): boolean {
    return this.#mustListBy !== undefined
  }

  broke(stream: Stream, error: unknown): void {
    // An end is known at once; an error when the reflector reports it.
    if (stream === this.#stream && error === undefined)
      this.#because({ at: this.#stage.clock.elapsed, error: undefined })
  }

  /** The reflector has committed a list. */
  listed(): void {
    this.#isListed = true
    if (this.#relistsWhenListed) this.#because({ at: this.#stage.clock.elapsed, error: undefined })
  }

  /** The reflector has reported an error. */
  failed(error: SourceError): void {
    const { mark, clock, violate } = this.#stage
    let isFatal = false
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
    if (isFatal) this.#spacing = FIRST_MS
    this.#isRefused ||= isFatal
    this.#wasFatal ||= isFatal
  }

  /** Somebody wants the source read again, while the reflector is in this state. */
  relistAsked(state: string): void {
    this.#mayList = true
    if (state === 'listing' || state === 'relisting') {
      this.#relistsWhenListed = true
      this.#stage.mark('a relist was asked for during a list')
    } else if (state === 'connecting' || state === 'live') {
      this.#because({ at: this.#stage.clock.elapsed, error: undefined })
    }
  }

  /** Time went by in which nobody could act. */
  skipped(): void {
    this.#skippedAt = this.#stage.clock.elapsed
    this.#doubts.skipped()
    this.#rhythm.skipped()
    if (this.#mustListBy !== undefined) this.#mustListBy = this.#skippedAt + BEFORE_LONG_MS
    this.#mayListUntil = Math.max(this.#mayListUntil, this.#skippedAt + BEFORE_LONG_MS)
  }

  /** Nothing is to be judged any more. */
  stopped(): void {
    this.#stream = undefined
    this.#mustListBy = undefined
    this.#doubts.stopped()
    this.#isStopped = true
  }

  /** A stream that says nothing must be given up in time. */
  look(): void {
    this.#doubts.look()
    if (!this.#isStopped) this.#rhythm.look()
    if (this.#stage.clock.elapsed > (this.#mustListBy ?? Infinity))
      this.#stage.violate('opens', 'something was left out long ago, and the source was not read again')
    const stream = this.#stream
    if (stream === undefined || this.#cause !== undefined || this.#isListed) return
    // It was told to end, for a reason that nobody is told.
    if (stream.signal.aborted) return
    const { clock, settings, violate } = this.#stage
    const limit = stream.kind === 'list' ? LIST_STALL_MS : 2 * settings.heartbeatMs + 5_000
    if (clock.elapsed <= this.#saidAt + limit + SLACK_MS || !this.#isExact || this.#skippedAt > this.#saidAt) return
    violate('opens', `the ${stream.kind} has been silent for ${clock.elapsed - this.#saidAt} ms and is still open`)
  }

  #because(cause: Cause): void {
    if (this.#cause !== undefined) return
    const contactAt = cause.error === undefined ? cause.at : this.#saidAt
    if (this.#liveAt !== undefined) this.#outlived(contactAt - this.#liveAt)
    this.#liveAt = undefined
    this.#cause = cause
  }

  #outlived(livedMs: number): void {
    if (livedMs >= this.#spacing) this.#spacing = FIRST_MS
  }

  #openedAnew(what: 'list' | 'watch', now: number): void {
    const { violate, mark } = this.#stage
    if (what === 'list' && !this.#mayList && now > this.#mayListUntil)
      violate('opens', 'it lists again, and the history is still there')
    const isUnannounced = this.#cause === undefined && now <= this.#mayListUntil
    if (isUnannounced && this.#liveAt !== undefined) this.#outlived(now - this.#liveAt)
    if (this.#openedAt !== undefined) {
      this.#judge(now, this.#openedAt)
      this.#spacing = Math.min(2 * this.#spacing, CEILING_MS)
      if (this.#spacing === CEILING_MS) mark('the opens were as far apart as they get')
    }
    this.#openedAt = now
    this.#isRefused = false
  }

  #judge(now: number, openedAt: number): void {
    const { violate, note } = this.#stage
    const cause = this.#cause ?? { at: this.#saidAt, error: undefined }
    const spacing = this.#isExact ? (this.#isRefused ? CEILING_MS : this.#spacing) : FIRST_MS
    let earliest = openedAt + spacing / 2
    let latest = Math.max(cause.at, openedAt + spacing)
    // A relist for what was left out comes when it is due, which nobody is told.
    if (this.#cause === undefined && now <= this.#mayListUntil) latest = now
    if (cause.error !== undefined) {
      const after = cause.error.retryAfterMs ?? 0
      earliest = Math.max(earliest, cause.at + AFTER_ERROR_MS / 2, cause.at + after)
      latest = Math.max(latest, cause.at + AFTER_ERROR_MS, cause.at + after)
    }
    const since = `${Math.round(now - openedAt)} ms after the last open`
    note('opens again', Math.round(now - openedAt), spacing)
    const slackMs = SLACK_MS + LOOKS * this.#stage.settings.driftMs
    if (now < earliest - slackMs) violate('opens', `too soon: ${since}, ${Math.round(earliest - openedAt)} at least`)
    if (this.#isExact && now > latest + SLACK_MS && this.#skippedAt < openedAt)
      violate('opens', `too late: ${since}, ${Math.round(latest - openedAt)} at most`)
  }
}

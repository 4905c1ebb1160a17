import type { Clock } from '../../src/contract/clock.js'
import { onAbort } from '../../src/util/abort-listeners.js'
import { WakeableTimer } from './wakeable-timer.js'

/** The shortest delay after a poll without a change, in milliseconds. */
const MIN_DELAY_MS = 1
/** After a change or a wake-up this many polls have the shortest delay. Then each poll without a change doubles it. */
const PROMPT_POLLS = 8
/** If more polls than this find changes in succession, writers are busy, and polls take time from them. */
const MAX_SUCCESSION = 3
/** The delay of such polls, in milliseconds. */
const BUSY_DELAY_MS = 5
/** A poll that takes longer than this, in milliseconds, takes time from writers, or the server is busy. */
const SHORT_POLL_MS = 2
/** It may take this long for each change, in milliseconds: a reader that rests has more to read afterwards. */
const CHANGE_MS = 0.01
/** After a longer poll a reader rests this many times as long as the poll took longer. */
const REST_FACTOR = 2
/** A reader rests if changes arrive faster than this, in changes a millisecond. */
const FAST = 3
/** The number of changes above that rate that may arrive without a rest. */
const BURST = 64
/** The number of changes above that, so that a reader does not rest long after a burst. */
const MOST_ABOVE = 8
/** The time between two reads of a reader that rests, in milliseconds. */
const REST_MS = 2

/**
 * Schedules the polls of a watch: at once after a wake-up or a change, and soon again, because not all commits are
 * announced. The next poll is due after `longestMs` at the latest.
 */
export class PollTimer {
  readonly #clock: Clock
  readonly #timer: WakeableTimer
  readonly #pace: ReadPace
  readonly #longestMs: number
  #delayMs = MIN_DELAY_MS
  #promptPolls = 0
  #succession = 0
  #hasFound = false
  #changes = 0
  #isWoken = false
  #wasWoken = false
  /** Whether polls find changes without wake-ups: more is committed than is announced. */
  #isBusy = false
  #polledAt: number
  /** How long the last poll took that found changes, in milliseconds. What the mirror does with them does not count. */
  #tookMs = 0

  constructor(clock: Clock, longestMs: number) {
    this.#clock = clock
    this.#timer = new WakeableTimer(clock)
    this.#pace = new ReadPace(clock)
    this.#longestMs = longestMs
    this.#polledAt = clock.now()
  }

  /** Whether changes arrive so fast that no wake-up makes a poll earlier. */
  get isPaced(): boolean {
    return this.#pace.isFast
  }

  /** Ends the wait of `next` at once, unless changes arrive fast. */
  wake(): void {
    this.#isWoken = true
    this.#delayMs = MIN_DELAY_MS
    this.#promptPolls = PROMPT_POLLS
    this.#timer.wake()
  }

  /** Reports that the last poll returned changes: the next one is due at once, or soon if writers are busy. */
  changed(changes: number): void {
    this.#hasFound = true
    this.#changes = changes
    this.#tookMs = this.#clock.now() - this.#polledAt
    this.#delayMs = ++this.#succession > MAX_SUCCESSION ? BUSY_DELAY_MS : 0
    this.#promptPolls = PROMPT_POLLS
    if (!this.#wasWoken) this.#isBusy = true
  }

  /** Resolves when the next poll is due, or `signal` aborts. Returns whether the poll is expected to find changes. */
  async next(signal: AbortSignal): Promise<boolean> {
    const tookMs = this.#hasFound ? this.#tookMs : this.#clock.now() - this.#polledAt
    if (!this.#hasFound) this.#succession = 0
    this.#hasFound = false
    const shortMs = Math.max(SHORT_POLL_MS, CHANGE_MS * this.#changes)
    const paceMs = this.#pace.restMs(this.#changes)
    this.#changes = 0
    if (paceMs > 0) await this.#clock.sleep(paceMs)
    if (!this.#isWoken && !signal.aborted) {
      const restMs = REST_FACTOR * (tookMs - shortMs)
      await this.#sleep(Math.max(this.#delayMs, Math.min(restMs, this.#longestMs)) - paceMs, signal)
      if (this.#promptPolls > 0) {
        this.#promptPolls--
        this.#delayMs = MIN_DELAY_MS
      } else {
        this.#delayMs = Math.min(this.#delayMs * 2, this.#longestMs)
        this.#isBusy = false
      }
    }
    this.#wasWoken = this.#isWoken
    this.#isWoken = false
    this.#polledAt = this.#clock.now()
    return this.#wasWoken || this.#isBusy
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (ms <= 0) return
    const unlink = onAbort(signal, () => this.#timer.wake())
    await this.#timer.sleep(ms)
    unlink()
  }
}

/**
 * The rests of a reader. If changes arrive fast, each read waits for some of them: then they share the cost of a read
 * and of a batch, and writers have the processor meanwhile.
 */
export class ReadPace {
  readonly #clock: Clock
  /** The number of changes above the rate, with a limit. */
  #surplus = 0
  #readAt: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#readAt = clock.now()
  }

  get isFast(): boolean {
    return this.#surplus > BURST
  }

  /** Returns the milliseconds before the next read, after one that found this number of changes. */
  restMs(changes: number): number {
    const now = this.#clock.now()
    const surplus = Math.max(0, this.#surplus - FAST * (now - this.#readAt)) + changes
    this.#surplus = Math.min(surplus, BURST + MOST_ABOVE)
    this.#readAt = now
    return this.isFast ? REST_MS : 0
  }
}

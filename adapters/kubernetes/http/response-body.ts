import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED } from '../../../src/contract/errors.js'
import { ArrivalOrder } from './arrival-order.js'

/** Nothing came in time. */
export const IDLE: unique symbol = Symbol('silence')

/** So much is taken in before somebody asks for it, in bytes. */
const HIGH_WATER_MARK_BYTES = 512 * 1024

/** The bytes of an answer as they come, all that have come at once. Stops reading while nobody takes them. */
export class ResponseBody {
  readonly #response: IncomingMessage
  readonly #clock: Clock
  readonly #arrivals: ArrivalOrder
  #chunks: Buffer[] = []
  #bytes = 0
  #hasEnded = false
  #error: unknown
  #firstArrival = 0
  #takenArrival = 0
  #onReady: (() => void) | undefined
  /** Whoever waits goes on; whether because nothing came in time. */
  #wake: ((isLate?: boolean) => void) | undefined
  /** When whoever waits has waited long enough. */
  #deadline = 0
  #timer: { readonly at: number; readonly control: AbortController } | undefined

  constructor(response: IncomingMessage, clock: Clock, arrivals: ArrivalOrder = new ArrivalOrder()) {
    this.#response = response
    this.#clock = clock
    this.#arrivals = arrivals
    response.on('data', (chunk: Buffer) => {
      if (this.#chunks.length === 0) this.#firstArrival = this.#arrivals.next()
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
      if (this.#bytes >= HIGH_WATER_MARK_BYTES) response.pause()
      this.#wake?.()
      this.#onReady?.()
    })
    response.once('end', () => this.#end(undefined))
    response.on('error', (error) => this.#end(error))
    // Without an end before: it broke off.
    response.once('close', () => this.#end(new Error('the connection was closed in the middle of the answer')))
  }

  /** Whether there is something to take without waiting. */
  get isReady(): boolean {
    return this.#chunks.length > 0 || this.#hasEnded
  }

  /** Since which moment that has come which was taken last. */
  get takenArrival(): number {
    return this.#takenArrival
  }

  /** Since which moment the first of that has been here which nobody has taken; undefined where there is nothing. */
  get pendingArrival(): number | undefined {
    return this.#chunks.length > 0 ? this.#firstArrival : undefined
  }

  /** Called whenever there is something to take. */
  whenReady(listener: () => void): void {
    this.#onReady = listener
    if (this.isReady) listener()
  }

  /** Whether nothing more comes, though something may be left to take. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /**
   * What has come; waits where nothing has, for `ms` and then says `SILENCE`. Undefined at the end; rejects where the
   * answer broke off. One at a time.
   */
  async take(ms: number): Promise<readonly Buffer[] | undefined | typeof IDLE> {
    if (!this.isReady && (await this.#wait(ms))) return IDLE
    if (this.#chunks.length > 0 || !this.#hasEnded) {
      const taken = this.#chunks
      if (taken.length > 0) this.#takenArrival = this.#firstArrival
      this.#chunks = []
      if (this.#bytes >= HIGH_WATER_MARK_BYTES) this.#response.resume()
      this.#bytes = 0
      return taken
    }
    if (this.#error !== undefined) throw this.#error
    return undefined
  }

  /** Until there is something to take; true where nothing came for `ms`. */
  #wait(ms: number): Promise<boolean> {
    return new Promise((resolve) => {
      this.#wake = (isLate = false) => {
        this.#wake = undefined
        resolve(isLate)
      }
      this.#deadline = this.#clock.now() + ms
      if (this.#timer !== undefined && this.#timer.at <= this.#deadline) return
      this.#timer?.control.abort(ABORTED)
      void this.#runTimer()
    })
  }

  /** While somebody waits. One timer goes on from piece to piece: one for each would cost more than the pieces. */
  async #runTimer(): Promise<void> {
    while (this.#wake !== undefined) {
      const now = this.#clock.now()
      if (now >= this.#deadline) this.#wake(true)
      else {
        this.#timer = { at: this.#deadline, control: new AbortController() }
        try {
          await this.#clock.sleep(this.#deadline - now, this.#timer.control.signal)
        } catch {
          return // Another keeps time, or the answer is ABORTED.
        }
        this.#timer = undefined
      }
    }
  }

  /** Whoever waits gets nothing, at once, and may go on waiting. */
  interrupt(): void {
    this.#wake?.()
  }

  /** Breaks the answer off: whoever waits is told, and nothing more comes. */
  destroy(reason: unknown): void {
    this.#chunks = []
    this.#end(reason)
    this.#response.destroy()
  }

  #end(error: unknown): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#error = error
    this.#timer?.control.abort(ABORTED)
    this.#wake?.()
    this.#onReady?.()
  }
}

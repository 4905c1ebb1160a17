import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../src/contract/clock.js'
import { ABORTED } from '../../../src/contract/errors.js'

export const IDLE: unique symbol = Symbol('silence')

let arrivals = 0

/** A logical clock: each number is larger than all earlier ones of this process, whatever the system clock says. */
export function nextArrival(): number {
  return ++arrivals
}

/** Most bytes that are buffered before they are taken. */
const HIGH_WATER_MARK_BYTES = 512 * 1024

/** The bytes of a response as they arrive. Reading stops while no caller takes them. */
export class ResponseBody {
  /** The server's time at the beginning of the answer, in milliseconds. NaN if the answer has none. */
  readonly date: number
  readonly #response: IncomingMessage
  readonly #clock: Clock
  #chunks: Buffer[] = []
  #bytes = 0
  #hasEnded = false
  #error: unknown
  #firstArrival = 0
  /** The arrival number of the oldest bytes that were taken last. */
  takenArrival = 0
  #onReady: (() => void) | undefined
  /** Ends the current wait; `isLate` if no data arrived in time. */
  #wake: ((isLate?: boolean) => void) | undefined
  #deadline = 0
  #timer: { readonly at: number; readonly control: AbortController } | undefined

  constructor(response: IncomingMessage, clock: Clock) {
    this.date = Date.parse(response.headers.date ?? '')
    this.#response = response
    this.#clock = clock
    response.on('data', (chunk: Buffer) => {
      if (this.#chunks.length === 0) this.#firstArrival = nextArrival()
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
      if (this.#bytes >= HIGH_WATER_MARK_BYTES) response.pause()
      this.#wake?.()
      this.#onReady?.()
    })
    response.once('end', () => this.#end(undefined))
    response.on('error', (error) => this.#end(error))
    // A close without an end: the connection broke.
    response.once('close', () => this.#end(new Error('the connection was closed in the middle of the answer')))
  }

  /** Whether `take` resolves without waiting. */
  get isReady(): boolean {
    return this.#chunks.length > 0 || this.#hasEnded
  }

  /** The arrival number of the oldest bytes that were not taken; undefined if there are none. */
  get pendingArrival(): number | undefined {
    return this.#chunks.length > 0 ? this.#firstArrival : undefined
  }

  /** Calls the listener whenever `take` would resolve without waiting. */
  whenReady(listener: () => void): void {
    this.#onReady = listener
    if (this.isReady) listener()
  }

  /**
   * Returns the bytes that have arrived. Waits up to `ms` for some and then returns `IDLE`. Returns undefined at the
   * end, and rejects if the response broke off. Only one call at a time.
   */
  async take(ms: number): Promise<readonly Buffer[] | undefined | typeof IDLE> {
    if (!this.isReady && (await this.#wait(ms))) return IDLE
    if (this.#chunks.length > 0 || !this.#hasEnded) {
      const taken = this.#chunks
      if (taken.length > 0) this.takenArrival = this.#firstArrival
      this.#chunks = []
      if (this.#bytes >= HIGH_WATER_MARK_BYTES) this.#response.resume()
      this.#bytes = 0
      return taken
    }
    if (this.#error !== undefined) throw this.#error
    return undefined
  }

  /** Resolves when there are bytes to take; with true after `ms` without any. */
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

  /** Runs while a caller waits. One timer serves many waits: a timer for each would cost more than reading. */
  async #runTimer(): Promise<void> {
    while (this.#wake !== undefined) {
      const now = this.#clock.now()
      if (now >= this.#deadline) this.#wake(true)
      else {
        this.#timer = { at: this.#deadline, control: new AbortController() }
        try {
          await this.#clock.sleep(this.#deadline - now, this.#timer.control.signal)
        } catch {
          return // Another timer runs, or the response has ended.
        }
        this.#timer = undefined
      }
    }
  }

  /** Ends the current wait at once, without bytes. The caller may wait again. */
  interrupt(): void {
    this.#wake?.()
  }

  /** Closes the response. A pending `take` rejects with the reason. */
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

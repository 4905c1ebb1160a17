import type { Version } from '../../../src/contract/version.js'
import { LineSplitter } from '../decode/line-splitter.js'
import type { ApiSession } from '../http/api-session.js'
import { IDLE, type ResponseBody } from '../http/response-body.js'
import type { Line } from './watch-log.js'

export interface OpenedStream {
  readonly body: ResponseBody
  /** How far the server was before, where it was asked. */
  readonly head: Version | undefined
}

/** The answer to one watch, line by line as they come. */
export class WatchStream {
  readonly head: Version | undefined
  readonly #session: ApiSession
  readonly #body: ResponseBody
  readonly #splitter: LineSplitter
  #lines: Line[] = []
  #lastDataAt: number
  #takenArrival = 0
  /** Since which moment the beginning of a line has been here that has not ended. */
  #lineArrival: number | undefined

  constructor(session: ApiSession, { body, head }: OpenedStream, maxObjectBytes: number) {
    this.head = head
    this.#session = session
    this.#body = body
    this.#lastDataAt = session.clock.now()
    this.#splitter = new LineSplitter((bytes, isWhole) => this.#lines.push({ bytes, isWhole }), maxObjectBytes)
  }

  /** When it was opened, or something came last. */
  get lastDataAt(): number {
    return this.#lastDataAt
  }

  /** Nothing of the lines that were taken last came before this moment. */
  get takenArrival(): number {
    return this.#takenArrival
  }

  /** Since which moment the first of that has been here which is in no line that was taken; undefined where there is nothing. */
  get pendingArrival(): number | undefined {
    return this.#lineArrival ?? this.#body.pendingArrival
  }

  get isReady(): boolean {
    return this.#body.isReady
  }

  whenReady(listener: () => void): void {
    this.#body.whenReady(listener)
  }

  /** The lines that have come, maybe none; `SILENCE` where nothing came for `ms`, undefined at the end. Rejects where it broke off. */
  async take(ms: number): Promise<readonly Line[] | undefined | typeof IDLE> {
    const taken = await this.#session.take(this.#body, ms)
    if (taken === undefined || taken === IDLE) return taken
    if (taken.length > 0) this.#lastDataAt = this.#session.clock.now()
    for (const chunk of taken) this.#splitter.push(chunk)
    const lines = this.#lines
    this.#lines = []
    const { takenArrival: cameAt } = this.#body
    this.#takenArrival = this.#lineArrival ?? cameAt
    if (!this.#splitter.isInLine) this.#lineArrival = undefined
    else if (lines.length > 0 || this.#lineArrival === undefined) this.#lineArrival = cameAt
    return lines
  }

  /** Whoever waits goes on, with nothing. */
  interrupt(): void {
    this.#body.interrupt()
  }

  destroy(why: string): void {
    this.#body.destroy(new Error(why))
  }
}

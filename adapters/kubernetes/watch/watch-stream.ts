import type { Version } from '../../../src/contract/version.js'
import { type LineBlock, LineSplitter } from '../decode/line-splitter.js'
import type { ApiSession } from '../http/api-session.js'
import { IDLE, type ResponseBody } from '../http/response-body.js'

export interface OpenedStream {
  readonly body: ResponseBody
  /** The server's version before the stream was opened, if it was read. */
  readonly head: Version | undefined
}

export class WatchStream {
  readonly head: Version | undefined
  readonly #session: ApiSession
  readonly body: ResponseBody
  readonly #splitter: LineSplitter
  #blocks: LineBlock[] = []
  /** When the stream was opened, or data arrived last. */
  lastDataAt: number
  /** The arrival number of the oldest line that was taken last. */
  takenArrival = 0
  /** The arrival number of a line that has begun and not ended. */
  #lineArrival: number | undefined

  constructor(session: ApiSession, { body, head }: OpenedStream, maxObjectBytes: number) {
    this.head = head
    this.#session = session
    this.body = body
    this.lastDataAt = session.clock.now()
    this.#splitter = new LineSplitter((block) => this.#blocks.push(block), maxObjectBytes)
  }

  /** The arrival number of the oldest data that is not in a taken line; undefined if there is none. */
  get pendingArrival(): number | undefined {
    return this.#lineArrival ?? this.body.pendingArrival
  }

  /** Returns lines, maybe none; `IDLE` after `ms` without data, undefined at the end. Rejects if it broke off. */
  async take(ms: number): Promise<readonly LineBlock[] | undefined | typeof IDLE> {
    const taken = await this.#session.take(this.body, ms)
    if (taken === undefined || taken === IDLE) return taken
    if (taken.length > 0) this.lastDataAt = this.#session.clock.now()
    for (const chunk of taken) this.#splitter.push(chunk)
    const blocks = this.#blocks
    this.#blocks = []
    const { takenArrival: cameAt } = this.body
    this.takenArrival = this.#lineArrival ?? cameAt
    if (!this.#splitter.isInLine) this.#lineArrival = undefined
    else if (blocks.length > 0 || this.#lineArrival === undefined) this.#lineArrival = cameAt
    return blocks
  }

  destroy(why: string): void {
    this.body.destroy(new Error(why))
  }
}

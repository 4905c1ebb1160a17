import type { Version } from '../../../src/contract/version.js'
import { LineSlicer } from '../decode/line-splitter.js'
import type { Visit } from '../http/api-session.js'
import { type Body, SILENCE } from '../http/response-body.js'
import type { Line } from './watch-log.js'

export interface Opened {
  readonly body: Body
  /** How far the server was before, where it was asked. */
  readonly head: Version | undefined
}

/** The answer to one watch, line by line as they come. */
export class WatchStream {
  readonly head: Version | undefined
  readonly #visit: Visit
  readonly #body: Body
  readonly #slicer: LineSlicer
  #lines: Line[] = []
  #heardAt: number
  #cameAt = 0
  /** Since which moment the beginning of a line has been here that has not ended. */
  #lineSince: number | undefined

  constructor(visit: Visit, { body, head }: Opened, maxObjectBytes: number) {
    this.head = head
    this.#visit = visit
    this.#body = body
    this.#heardAt = visit.clock.now()
    this.#slicer = new LineSlicer((bytes, isWhole) => this.#lines.push({ bytes, isWhole }), maxObjectBytes)
  }

  /** When it was opened, or something came last. */
  get heardAt(): number {
    return this.#heardAt
  }

  /** Nothing of the lines that were taken last came before this moment. */
  get cameAt(): number {
    return this.#cameAt
  }

  /** Since which moment the first of that has been here which is in no line that was taken; undefined where there is nothing. */
  get heldSince(): number | undefined {
    return this.#lineSince ?? this.#body.heldSince
  }

  get isReady(): boolean {
    return this.#body.isReady
  }

  whenReady(listener: () => void): void {
    this.#body.whenReady(listener)
  }

  /** The lines that have come, maybe none; `SILENCE` where nothing came for `ms`, undefined at the end. Rejects where it broke off. */
  async take(ms: number): Promise<readonly Line[] | undefined | typeof SILENCE> {
    const taken = await this.#visit.take(this.#body, ms)
    if (taken === undefined || taken === SILENCE) return taken
    if (taken.length > 0) this.#heardAt = this.#visit.clock.now()
    for (const chunk of taken) this.#slicer.push(chunk)
    const lines = this.#lines
    this.#lines = []
    const { cameAt } = this.#body
    this.#cameAt = this.#lineSince ?? cameAt
    if (!this.#slicer.isInLine) this.#lineSince = undefined
    else if (lines.length > 0 || this.#lineSince === undefined) this.#lineSince = cameAt
    return lines
  }

  /** Whoever waits goes on, with nothing. */
  poke(): void {
    this.#body.poke()
  }

  destroy(why: string): void {
    this.#body.destroy(new Error(why))
  }
}

import type { Scenario } from '../system/scenario.js'

interface CallerSignal {
  readonly what: string
  readonly abort: AbortController
  /** When its caller aborts; Infinity: never. */
  readonly at: number
  /** Called just before the abort. */
  readonly beforeAbort: () => void
}

/** Callers that pass a signal and may abort it. Afterwards the signal has no listener (I15). */
export class Callers {
  readonly #scenario: Scenario
  readonly #life: number
  readonly #signals: CallerSignal[] = []

  constructor(scenario: Scenario, life: number) {
    this.#scenario = scenario
    this.#life = life
  }

  /** The options, with a signal if one is drawn; `beforeAbort` is called just before it aborts. */
  sign<O extends object>(
    what: string,
    options: O,
    beforeAbort = (): void => {},
  ): O & { readonly signal?: AbortSignal } {
    const { decisions, clock } = this.#scenario
    const isGiven = decisions.chance('caller signals', 0.4)
    const afterMs = decisions.pick('gives up after', [0, 30, 300, 3_000, 10_000]) * decisions.next('gives up after')
    const mayGiveUp = decisions.chance('gives up', 0.3)
    if (!isGiven) return options
    const doesGiveUp =
      mayGiveUp && !decisions.isQuiet && decisions.take(`gives up#${this.#life}.${this.#signals.length}`)
    const abort = new AbortController()
    const issued = { what, abort, at: doesGiveUp ? clock.elapsed + afterMs : Infinity, beforeAbort }
    this.#signals.push(issued)
    // A signal may be aborted before the call. Those of waits are otherwise aborted between two steps.
    if (doesGiveUp && afterMs === 0) this.#abort(issued)
    return { ...options, signal: abort.signal }
  }

  abortDue(): void {
    const { decisions, clock } = this.#scenario
    if (decisions.isQuiet) return
    for (const issued of this.#signals)
      if (!issued.abort.signal.aborted && issued.at <= clock.elapsed) this.#abort(issued)
  }

  /** Aborts the signal that this caller passed. Returns false if there is none, or if it has aborted already. */
  abort(what: string): boolean {
    const issued = this.#signals.find((each) => each.what === what && !each.abort.signal.aborted)
    if (issued !== undefined) this.#abort(issued)
    return issued !== undefined
  }

  checkStopped(): void {
    for (const { what, abort } of this.#signals)
      if (this.#scenario.listenersOf(abort.signal) > 0)
        this.#scenario.violate('I15', `${what} has left a listener on its signal`)
  }

  #abort({ what, abort, beforeAbort }: CallerSignal): void {
    const { note, mark } = this.#scenario
    note('a caller gives up', what)
    mark('a caller aborted its signal')
    beforeAbort()
    abort.abort(new Error(`the caller of ${what} gave up`))
  }
}

import type { Scenario } from '../system/scenario.js'

/** A signal that somebody gave with a call. */
interface CallerSignal {
  readonly what: string
  readonly abort: AbortController
  /** When its caller gives up; Infinity: never. */
  readonly at: number
  /** Called just before that. */
  readonly beforeAbort: () => void
}

/** Who calls with a signal of their own, and may give up; afterwards there is no listener on it (I15). */
export class Callers {
  readonly #scenario: Scenario
  readonly #life: number
  readonly #signals: CallerSignal[] = []

  constructor(scenario: Scenario, life: number) {
    this.#scenario = scenario
    this.#life = life
  }

  /** The options with a signal, where one is given; `givesUp` is called just before it aborts. */
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
    // Somebody may have given up before the call. Others give up between two steps: a reader has taken what it was given.
    if (doesGiveUp && afterMs === 0) this.#abort(issued)
    return { ...options, signal: abort.signal }
  }

  /** Those whose time has come give up. */
  abortDue(): void {
    const { decisions, clock } = this.#scenario
    if (decisions.isQuiet) return
    for (const issued of this.#signals)
      if (!issued.abort.signal.aborted && issued.at <= clock.elapsed) this.#abort(issued)
  }

  checkStopped(): void {
    for (const { what, abort } of this.#signals)
      if (this.#scenario.listenersOf(abort.signal) > 0)
        this.#scenario.violate('I15', `${what} has left a listener on the signal that it was given`)
  }

  #abort({ what, abort, beforeAbort }: CallerSignal): void {
    const { note, mark } = this.#scenario
    note('a caller gives up', what)
    mark('a caller gave up')
    beforeAbort()
    abort.abort(new Error(`the caller of ${what} gave up`))
  }
}

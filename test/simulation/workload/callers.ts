import type { Scenario } from '../system/scenario.js'

/** A signal that somebody gave with a call. */
interface Given {
  readonly what: string
  readonly abort: AbortController
  /** When its caller gives up; Infinity: never. */
  readonly at: number
  /** Called just before that. */
  readonly givesUp: () => void
}

/** Who calls with a signal of their own, and may give up; afterwards there is no listener on it (I15). */
export class Callers {
  readonly #scene: Scenario
  readonly #life: number
  readonly #given: Given[] = []

  constructor(scene: Scenario, life: number) {
    this.#scene = scene
    this.#life = life
  }

  /** The options with a signal, where one is given; `givesUp` is called just before it aborts. */
  sign<O extends object>(what: string, options: O, givesUp = (): void => {}): O & { readonly signal?: AbortSignal } {
    const { draws, clock } = this.#scene
    const isGiven = draws.chance('caller signals', 0.4)
    const afterMs = draws.pick('gives up after', [0, 30, 300, 3_000, 10_000]) * draws.next('gives up after')
    const mayGiveUp = draws.chance('gives up', 0.3)
    if (!isGiven) return options
    const doesGiveUp = mayGiveUp && !draws.isQuiet && draws.take(`gives up#${this.#life}.${this.#given.length}`)
    const abort = new AbortController()
    const given = { what, abort, at: doesGiveUp ? clock.elapsed + afterMs : Infinity, givesUp }
    this.#given.push(given)
    // Somebody may have given up before the call. Others give up between two steps: a reader has taken what it was given.
    if (doesGiveUp && afterMs === 0) this.#abort(given)
    return { ...options, signal: abort.signal }
  }

  /** Those whose time has come give up. */
  look(): void {
    const { draws, clock } = this.#scene
    if (draws.isQuiet) return
    for (const given of this.#given) if (!given.abort.signal.aborted && given.at <= clock.elapsed) this.#abort(given)
  }

  checkStopped(): void {
    for (const { what, abort } of this.#given)
      if (this.#scene.listenersOf(abort.signal) > 0)
        this.#scene.violate('I15', `${what} has left a listener on the signal that it was given`)
  }

  #abort({ what, abort, givesUp }: Given): void {
    const { note, mark } = this.#scene
    note('a caller gives up', what)
    mark('a caller gave up')
    givesUp()
    abort.abort(new Error(`the caller of ${what} gave up`))
  }
}

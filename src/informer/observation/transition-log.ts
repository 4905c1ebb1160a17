import type { MirrorState } from '../../contract/status.js'

export interface Transition {
  readonly at: number
  readonly source: string
  readonly from: MirrorState
  readonly to: MirrorState
  readonly reason: string
}

/** The number of transitions that are kept. */
const MAX_TRANSITIONS = 50

/** The last changes of state of an informer, for inspection. */
export class TransitionLog {
  readonly #transitions: Transition[] = []

  add(transition: Transition): void {
    this.#transitions.push(transition)
    if (this.#transitions.length > MAX_TRANSITIONS) this.#transitions.shift()
  }

  /** The latest last. */
  get all(): readonly Transition[] {
    return this.#transitions
  }
}

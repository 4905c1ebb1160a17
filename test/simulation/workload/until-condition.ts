import type { Scenario } from '../system/scenario.js'

/** The condition of an `until`. It must not be called after the `until` has settled. */
export class UntilCondition<V> {
  readonly holds: (value: V) => boolean
  #isOver = false

  constructor({ violate }: Scenario, holds: (value: V) => boolean) {
    this.holds = (value) => {
      if (this.#isOver) violate('waits', 'the condition of an until that has ended is called')
      return holds(value)
    }
  }

  /** Returns the same promise; the condition is over when it settles. */
  until<P>(wait: Promise<P>): Promise<P> {
    const end = (): void => {
      this.#isOver = true
    }
    wait.then(end, end)
    return wait
  }
}

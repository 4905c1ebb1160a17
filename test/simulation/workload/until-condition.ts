import type { Scenario } from '../system/scenario.js'

/** The condition of an `until`: once that has ended nobody calls it any more. */
export class UntilCondition<V> {
  readonly holds: (value: V) => boolean
  #isOver = false

  constructor({ violate }: Scenario, holds: (value: V) => boolean) {
    this.holds = (value) => {
      if (this.#isOver) violate('waits', 'the condition of an until that has ended is called')
      return holds(value)
    }
  }

  /** The same promise; with its end the condition is over. */
  until<P>(wait: Promise<P>): Promise<P> {
    const end = (): void => {
      this.#isOver = true
    }
    wait.then(end, end)
    return wait
  }
}

import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import type { SourceSet } from '../../../src/informer/source-set.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import type { SleepCounter } from '../system/sim-clock.js'

/** Another informer of the same set, never started: it has the sources that the set has. */
export class Bystander {
  readonly #scenario: Scenario
  readonly #set: SourceSet<Item>
  readonly #clock: SleepCounter
  readonly #informer: Informer<Item, object>

  constructor(scenario: Scenario, set: SourceSet<Item>) {
    scenario.note('another informer of the set')
    this.#scenario = scenario
    this.#set = set
    this.#clock = scenario.clock.facade()
    this.#informer = createInformer<Item, object>({ source: set, clock: this.#clock, audit: false })
  }

  checkStep(): void {
    const names = [...this.#set.sources.keys()].sort().join()
    const known = Object.keys(this.#informer.status.sources ?? {})
      .sort()
      .join()
    if (known !== names) this.#scenario.violate('sets', `an informer of the set knows ${known}, and it has ${names}`)
  }

  stop(): void {
    const { violate } = this.#scenario
    this.checkStep()
    this.#informer.stop().then(
      () => {
        if (this.#clock.sleeping > 0) violate('I15', 'an informer that was never started leaves a timer')
      },
      (error: unknown) => violate('crash', `stop() of an informer that was never started failed: ${error}`),
    )
  }
}

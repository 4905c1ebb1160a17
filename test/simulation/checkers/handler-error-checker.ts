import { type SourceError, TerminalError } from '../../../src/contract/errors.js'
import type { InformerSystem } from '../system/informer-system.js'
import type { Scenario } from '../system/scenario.js'
import type { Follower } from '../workload/follower.js'

/** Whether an error may never be reported, because its consumer was closed meanwhile. */
export type MayBeLost = () => boolean

/** Checks that each error of a handler is reported once (I14). */
export abstract class HandlerErrorChecker<D extends InformerSystem<Scenario, Follower>> {
  protected readonly driver: D
  /** Thrown by handlers, and not reported yet. */
  readonly #planted = new Map<unknown, MayBeLost>()

  constructor(driver: D) {
    this.driver = driver
  }

  /** An error for a handler to throw. It need not be reported if its follower has left. */
  plant(hasLeft: boolean, error = new Error('thrown by a handler'), mayBeLost: MayBeLost = () => false): Error {
    if (!hasLeft && !this.driver.isStopping) this.#planted.set(error, mayBeLost)
    return error
  }

  forget(): void {
    this.#planted.clear()
  }

  check(): void {
    const planted = [...this.#planted.values()].filter((mayBeLost) => !mayBeLost()).length
    if (planted > 0) this.driver.scenario.violate('I14', `${planted} errors of handlers were never reported`)
  }

  protected ofHandler({ message, cause }: SourceError): void {
    const { scenario, isStopping, followers, reconcilers } = this.driver
    if (message.includes('fell behind')) {
      const follower = followers.find(({ name }) => message.includes(`"${name}"`))
      follower?.queue?.overflowed()
      if (follower?.mayOverflow === true) {
        follower.hasOverflowed ||= !follower.isClosed
        follower.isClosed = true
      } else scenario.violate('I12', `closed by an overflow that it was to merge: ${message}`)
    } else if (cause !== undefined && !this.#planted.delete(cause instanceof TerminalError ? cause.cause : cause)) {
      const mayBeForgotten = isStopping || [...followers, ...reconcilers].some(({ isClosed }) => isClosed)
      if (!mayBeForgotten) scenario.violate('I14', `an error of a handler was reported twice: ${message}`)
    }
  }
}

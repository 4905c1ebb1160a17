import type { ListerWatcher } from '../../src/contract/source.js'
import type { FaultProxy } from '../servers/fault-proxy.js'
import { waitUntil } from '../servers/wait-until.js'
import type { CountingClock } from './clocks.js'
import { Follower, type FollowerOptions } from './follower.js'

/** A mirror of a real backend, which it reads through a fault proxy. */
export abstract class BackendStage<T, S extends ListerWatcher<T> = ListerWatcher<T>> extends Follower<
  T,
  S,
  CountingClock
> {
  readonly proxy: FaultProxy

  constructor(proxy: FaultProxy, source: S, options: FollowerOptions<T, CountingClock>) {
    super(source, options)
    this.proxy = proxy
  }

  /** Runs a test, and checks at its end that a stop leaves no timer and no connection. */
  async run(act: (stage: this) => Promise<void>): Promise<void> {
    await act(this)
    await this.assertCleanStop()
  }

  /** Breaks all connections, and refuses new ones. */
  cut(): void {
    this.proxy.reset()
    this.proxy.refuse()
  }

  /** The number of connections that a stop must have closed. */
  protected get connections(): number {
    return this.proxy.counts.open
  }

  protected async assertCleanStop(ms = 60_000): Promise<void> {
    await this.informer.stop()
    this.proxy.pass()
    const isClean = (): boolean => this.connections === 0 && this.clock.sleeping === 0
    await waitUntil('nothing to be left', isClean, ms).catch((error: unknown) => {
      const left = `${this.connections} connections, ${this.clock.sleeping} timers`
      throw new Error(`${left} are left after the stop`, { cause: error })
    })
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]()
    await this.proxy[Symbol.asyncDispose]()
  }
}

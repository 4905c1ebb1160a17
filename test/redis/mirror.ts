import { isDeepStrictEqual } from 'node:util'
import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer } from '../../src/informer/informer-types.js'
import { CountingClock, fastClock } from '../postgres-faults/clocks.js'
import { HandlerHistory } from '../postgres-faults/handler-history.js'
import { type FaultProxy, startFaultProxy } from '../servers/fault-proxy.js'
import type { RedisServer } from '../servers/redis.js'
import { waitUntil } from '../servers/wait-until.js'

export interface Item {
  readonly n: number
}

/** The factor by which the time of a mirror is faster. */
const SPEED = 5

/** A mirror of any source, and a proxy before the server through which it sees it. */
export class Mirror implements AsyncDisposable {
  readonly proxy: FaultProxy
  readonly source: ListerWatcher<Item>
  readonly informer: Informer<Item>
  readonly told = new HandlerHistory<Item>()
  readonly errors: SourceError[] = []
  readonly clock = new CountingClock(fastClock(SPEED))

  private constructor(proxy: FaultProxy, source: ListerWatcher<Item>) {
    this.proxy = proxy
    this.source = source
    this.informer = createInformer({ source, clock: this.clock, audit: false })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.subscribe(this.told.handlers)
  }

  /** `make` is given the proxy's port. */
  static async open(redis: RedisServer, make: (port: number) => ListerWatcher<Item>): Promise<Mirror> {
    const proxy = await startFaultProxy({ targetPort: redis.port })
    return new Mirror(proxy, make(proxy.port))
  }

  /** What happened, but for lost connections. */
  get codes(): readonly string[] {
    return this.errors.map(({ code }) => code).filter((code) => code !== 'UNAVAILABLE')
  }

  /** The first list is in, and the watch is open. */
  async live(): Promise<void> {
    this.informer.start()
    await this.until('the watch to be live', () => this.informer.status.state === 'live')
  }

  /** Nothing comes through any more, in both directions. */
  cut(): void {
    this.proxy.reset()
    this.proxy.refuse()
  }

  /** The mirror holds these objects, and so does a consumer of its changes. */
  async shows(wanted: Readonly<Record<string, number>>): Promise<void> {
    const isSo = (): boolean =>
      isDeepStrictEqual(Object.fromEntries(Array.from(this.told.objects, ([key, { n }]) => [key, n])), wanted) &&
      this.told.objects.size === this.informer.size
    await this.until(`the mirror to show ${JSON.stringify(wanted)}`, isSo)
    if (this.told.violations.length > 0) throw new Error(this.told.violations.join('; '))
  }

  async until(what: string, isSo: () => boolean, ms = 20_000): Promise<void> {
    await waitUntil(what, isSo, ms).catch((error: unknown) => {
      const { state, reason } = this.informer.status
      const errors = this.errors.slice(-5).map(({ code, message }) => `${code} ${message}`)
      const has = JSON.stringify(Object.fromEntries(this.told.objects)).slice(0, 300)
      throw new Error(`it is ${state} (${reason}) and shows ${has}; ${errors.join('; ')}`, { cause: error })
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
    await this.proxy[Symbol.asyncDispose]()
  }
}

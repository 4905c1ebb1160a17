import type { ListerWatcher } from '../../src/contract/source.js'
import { startFaultProxy } from '../servers/fault-proxy.js'
import type { RedisServer } from '../servers/redis.js'
import { BackendStage } from '../support/backend-stage.js'
import { CountingClock, fastClock } from '../support/clocks.js'

export interface Item {
  readonly n: number
}

const SPEED = 5

/** A mirror of any source, and a proxy before the server through which it reads. */
export class Mirror extends BackendStage<Item> {
  wanted: Readonly<Record<string, number>> = {}

  /** `make` receives the port of the proxy. */
  static async open(redis: RedisServer, make: (port: number) => ListerWatcher<Item>): Promise<Mirror> {
    const proxy = await startFaultProxy({ targetPort: redis.port })
    return new Mirror(proxy, make(proxy.port), { clock: new CountingClock(fastClock(SPEED)) })
  }

  /** All errors except lost connections. */
  override get codes(): readonly string[] {
    return super.codes.filter((code) => code !== 'UNAVAILABLE')
  }

  override get story(): string {
    return `${super.story}; it has ${JSON.stringify(Object.fromEntries(this.delivered.objects)).slice(0, 300)}`
  }

  /** Resolves when the mirror has exactly these objects, and so has a consumer of its changes. */
  async shows(wanted: Readonly<Record<string, number>>): Promise<void> {
    this.wanted = wanted
    await this.healed(20_000)
  }

  override async truth(): Promise<ReadonlyMap<string, string>> {
    return new Map(Object.entries(this.wanted).map(([key, n]) => [key, String(n)]))
  }

  protected override textOf({ n }: Item): string {
    return String(n)
  }
}

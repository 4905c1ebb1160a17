import { type MemorySource, memorySource } from '../../adapters/memory/index.js'
import { type Clock, systemClock } from '../../src/adapter.js'
import { createInformer, type Informer, type Version } from '../../src/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { VirtualClock } from '../../testing/virtual-clock.js'

type Item = { readonly n: number; readonly tenant: string; readonly text: string }

export interface Time {
  readonly clock: Clock
  pass(ms: number): Promise<void>
  /** The number of sleepers; undefined if the clock does not count them. */
  readonly sleeping: number | undefined
}

export function virtualTime(): Time {
  const clock = new VirtualClock()
  return {
    clock,
    pass: (ms) => clock.advance(ms),
    get sleeping() {
      return clock.sleeping
    },
  }
}

/** The system's clock and its timers, so many times as fast. */
export function systemTime(times: number): Time {
  const clock: Clock = {
    now: () => systemClock.now() * times,
    sleep: (ms, signal) => systemClock.sleep(ms / times, signal),
  }
  return { clock, pass: (ms) => clock.sleep(ms), sleeping: undefined }
}

const HEARTBEAT_MS = 1_000
/** Longer than a watch has to be live so that the next one opens soon. */
const OUTLIVED_MS = 3_000
/** What has not happened after this long never will. */
const DEADLINE_MS = 3_600_000
const item = (n: number): Item => ({ n, tenant: `t${n % 20}`, text: `text ${n}` })

/** A mirror under load: everything but the source, and how time passes, is what users run. */
export class Mirror {
  readonly time: Time
  readonly source: MemorySource<Item>
  readonly informer: Informer<Item, object>
  /** A signal of the caller's that outlives whatever it is given to. */
  readonly caller = new AbortController()
  told = 0
  readonly #keys: number
  #n = 0

  constructor(time: Time, keys: number) {
    this.time = time
    this.#keys = keys
    this.source = memorySource<Item>({
      entries: Array.from({ length: keys }, (_, i) => [`k${i}`, item(i)] as const),
      history: 5,
      heartbeatMs: HEARTBEAT_MS,
    })
    this.informer = createInformer({
      source: this.source,
      indexes: (ix) => ({ tenant: ix.equal((o) => o.tenant), n: ix.ordered((o) => o.n) }),
      audit: {},
      clock: time.clock,
      random: new SeededRandom(1),
      freeze: false,
    })
    this.informer.on('error', () => {})
  }

  async start(): Promise<void> {
    await this.#over(this.informer.start({ signal: this.caller.signal }).synced({ signal: this.caller.signal }))
    await this.until(() => this.informer.status.state === 'live')
    await this.time.pass(OUTLIVED_MS)
  }

  /** Three followers, as an application has them. */
  follow(): void {
    const { signal } = this.caller
    const told = (): void => {
      this.told++
    }
    this.informer.subscribe({ add: told, update: told, delete: told }, { signal })
    this.informer.subscribe({ update: () => {} }, { where: { tenant: 't1' }, delivery: 'latest', signal })
    this.informer.reconcile(async () => {}, { concurrency: 4, signal })
  }

  /** One transaction. Each key is written in turn, one in fifty deleted, another one each time around. */
  write(count: number): Version {
    return this.source.transaction((tx) => {
      for (let i = 0; i < count; i++) {
        const n = this.#n++
        const key = `k${(n * 7) % this.#keys}`
        if ((n + Math.floor(n / this.#keys)) % 50 === 0) tx.delete(key)
        else tx.put(key, item(n))
      }
    })
  }

  /** Writes one transaction, and waits until it is delivered to all consumers. */
  async events(count: number): Promise<void> {
    this.write(count)
    await this.time.pass(0)
  }

  /** Breaks the watch, and waits until it has resumed. */
  async reconnect(): Promise<void> {
    const { reconnects } = this.informer.status
    this.source.disconnect()
    await this.until(() => this.informer.status.reconnects > reconnects && this.#isLive)
    await this.time.pass(OUTLIVED_MS)
  }

  async relist(): Promise<void> {
    const { relists } = this.informer.status
    this.source.disconnect()
    this.write(10)
    this.source.compact()
    await this.until(() => this.informer.status.relists > relists && this.#isLive)
    await this.time.pass(OUTLIVED_MS)
  }

  async relistAsked(): Promise<void> {
    await this.#over(this.informer.relist({ signal: this.caller.signal, timeoutMs: DEADLINE_MS }))
    await this.until(() => this.#isLive)
    await this.time.pass(OUTLIVED_MS)
  }

  /** Followers and listeners that come and go; waits that are answered, time out and are given up. */
  async join(): Promise<void> {
    const { informer, caller } = this
    const { signal } = caller
    const heard = (): void => {}
    informer.on('status', heard).on('error', heard)
    const subs = [
      informer.subscribe({ update: () => {} }, { signal, resyncMs: 1_000 }),
      informer.subscribe({ update: async () => {} }, { key: 'k1', signal, concurrency: 3 }),
      informer.changes({ filter: ({ n }) => n % 2 === 0, signal }),
      informer.reconcile(async () => {}, { signal }),
    ]
    const given = new AbortController()
    const version = this.write(10)
    const answered = [
      informer.waitFor(version, { signal, timeoutMs: DEADLINE_MS }),
      informer.fresh({ signal, timeoutMs: DEADLINE_MS }),
      informer.until('k1', (object) => object === undefined || object.n >= 0, { signal }),
      ...subs.slice(0, 2).map((sub) => sub.waitFor(version, { signal, timeoutMs: DEADLINE_MS })),
    ]
    const never = (): boolean => false
    const unanswered = [
      informer.until('k1', never, { signal, timeoutMs: 500 }),
      informer.until('k1', never, { signal: given.signal, timeoutMs: DEADLINE_MS }),
    ]
    for (const wait of unanswered) wait.catch(() => {})
    await this.#over(Promise.all(answered))
    given.abort()
    await this.#over(Promise.allSettled(unanswered))
    for (const sub of subs) await this.#over(sub.close())
    informer.off('status', heard).off('error', heard)
    informer.snapshot()[Symbol.dispose]()
  }

  stop(): Promise<void> {
    return this.#over(this.informer.stop())
  }

  async until(isSo: () => boolean): Promise<void> {
    await this.time.pass(0)
    for (let waited = 0; !isSo(); waited += HEARTBEAT_MS / 4) {
      if (waited > DEADLINE_MS) throw new Error(`what was waited for never came: ${this.informer.status.reason}`)
      await this.time.pass(HEARTBEAT_MS / 4)
    }
  }

  get #isLive(): boolean {
    return this.informer.status.state === 'live'
  }

  async #over(promise: Promise<unknown>): Promise<void> {
    let isOver = false
    const end = () => (isOver = true)
    promise.then(end, end)
    await this.until(() => isOver)
    await promise
  }
}

import { type MemorySource, memorySource } from '../../../adapters/memory/index.js'
import type { ScheduleOptions } from '../runner/schedule.js'
import { World } from '../runner/world.js'
import type { Stream } from '../workload/random-decisions.js'
import type { UpstreamFollower } from './follower.js'
import { type Item, type Tenant, UpstreamStates } from './upstream-states.js'

export const KEYS: readonly string[] = ['a', 'b', 'c', 'd', 'e', 'f']
const ACTIONS = 40

interface UpstreamOptions {
  readonly heartbeatMs: number
  readonly tenants: readonly Tenant[]
  /** The keys of large transactions. */
  readonly keys: readonly string[]
  readonly padding?: string
}

/** One schedule of followers of an upstream, which they reach through the code under test. */
export abstract class UpstreamWorld<A extends string, F extends UpstreamFollower> extends World {
  readonly states = new UpstreamStates()
  protected followers: F[] = []
  readonly #upstream: UpstreamOptions
  readonly source: MemorySource<Item>
  #writes = 0

  constructor(seed: number, options: ScheduleOptions, upstreamOf: (random: Stream) => UpstreamOptions) {
    super(seed, options)
    const random = this.decisions.of('upstream')
    this.#upstream = upstreamOf(random)
    this.source = memorySource<Item>({ heartbeatMs: this.#upstream.heartbeatMs })
    this.write(random, 3)
  }

  protected abstract actions(random: Stream): Readonly<Record<A, () => unknown>>

  /** The followers that do not show the last state, although they must. */
  protected abstract get late(): readonly F[]

  /** The state of the relay or share between the upstream and its followers. */
  protected abstract get between(): string

  override get state(): string {
    const followers = this.followers.map(({ name, shown }) => `${name} at ${shown}`)
    return `upstream at ${this.states.last}, ${[...followers, this.between].join(', ')}`
  }

  /** Actions at random times, often at once. Each has draws of its own, so that it can be removed. */
  protected *act(actions: readonly A[]): Generator<undefined, void> {
    for (let nth = 0; nth < ACTIONS && !this.hasFailed; nth++) {
      const random = this.decisions.of(`action ${nth}`)
      const [action, pauseMs] = [random.pick(actions), random.pick([0, 0, 1, 20, 200, 2_000, 6_000])]
      if (this.decisions.take(`${action}#${nth}`)) {
        this.note(action)
        this.actions(random)[action]()
      }
      yield* this.advance(pauseMs)
    }
  }

  /** One transaction of the upstream. Each state is unique by the numbers in `tx`. */
  protected write(random: Stream, count: number): void {
    const { keys, tenants, padding } = this.#upstream
    const n = ++this.#writes
    this.source.transaction((tx) => {
      const put = (key: string, tenant: Tenant, more?: { readonly padding: string }): void => {
        const item = { n, tenant, ...more }
        tx.put(key, item)
        this.states.content.set(key, item)
      }
      for (const tenant of tenants) put(`tx ${tenant}`, tenant)
      for (let nth = 0; nth < count; nth++) {
        const key = count === keys.length ? (keys[nth] as string) : random.pick(keys)
        if (random.chance(0.3)) {
          tx.delete(key)
          this.states.content.delete(key)
        } else put(key, random.pick(tenants), padding === undefined ? undefined : { padding })
      }
    })
    this.states.remember()
  }

  /** The upstream is restored from a backup: some keys are gone. */
  protected restore(random: Stream): void {
    const { keys, tenants } = this.#upstream
    const { content } = this.states
    this.states.fork()
    for (const key of keys) if (random.chance(0.5)) content.delete(key)
    const n = ++this.#writes
    for (const tenant of tenants) content.set(`tx ${tenant}`, { n, tenant })
    this.source.restore(content)
    this.states.remember()
  }

  /** A user waits until a follower includes the last write. */
  protected wait(follower: F, by: 'mark' | 'fresh' = 'mark'): void {
    const { states, source } = this
    const [index, history] = [states.last, states.history]
    const { informer, name } = follower
    void source.head().then(async (head) => {
      const limits = { timeoutMs: 20_000 }
      const hasEnded = await (by === 'mark' ? informer.waitFor(head, limits) : informer.fresh(limits)).then(
        () => true,
        () => false,
      )
      const shown = follower.showsNow
      if (!hasEnded || !follower.isAlive || shown < 0) return
      this.mark('a wait for a write ended')
      if (shown < index && states.historyOf(shown) === history)
        this.violate('wait', `${name} shows state ${shown} after a wait for state ${index} (${by})`)
    })
  }

  /** All followers show the last state within a time. */
  protected *converge(withinMs: number): Generator<undefined, void> {
    const by = this.clock.elapsed + withinMs
    do yield* this.advance(500)
    while (this.clock.elapsed < by && !this.hasFailed && this.late.length > 0)
    for (const { name, shown, informer } of this.late)
      this.violate(
        'live',
        `${name} shows state ${shown} of ${this.states.last}: ${informer.status.reason} (${this.between})`,
      )
  }

  protected *advance(ms: number): Generator<undefined, void> {
    yield
    yield* this.until(() => false, this.clock.elapsed + ms)
    this.clock.still(() => this.look())
  }

  /** Checks at rest. */
  protected look(): void {
    for (const follower of this.followers) follower.look()
  }
}

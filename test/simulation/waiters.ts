import { SourceError } from '../../src/errors.js'
import type { Wait } from '../../src/waits.js'
import type { Follower } from './follower.js'
import type { InformerDrive } from './informer-drive.js'
import { nameOf, type Stage } from './stage.js'

/** Those who wait for something; each must end in time, and rightly. */
export class Waiters {
  readonly #drive: InformerDrive
  readonly #stage: Stage
  readonly #waiting = new Map<string, Follower | undefined>()
  #count = 0

  constructor(drive: InformerDrive) {
    this.#drive = drive
    this.#stage = drive.stage
  }

  /** Somebody who still waits, and not for a handler that will never be done. */
  get waiting(): string | undefined {
    for (const [what, follower] of this.#waiting) if (follower?.isStuckForEver !== true) return what
    return undefined
  }

  /** Read-your-writes: waits for where the source is now, by the store or by a subscription. */
  forHead(): void {
    const { history, draws, settings, violate } = this.#stage
    const { informer, followers } = this.#drive
    if (!settings.hasOrder) return
    const mark = history.head.version
    const follower = draws.chance('wait of', 0.5) ? draws.pick('whose wait', followers) : undefined
    const { subscription } = follower ?? {}
    if (follower?.isStuckForEver || follower?.isClosed) return
    if (follower === undefined || subscription === undefined) {
      this.#wait(informer.waitFor(mark, this.#limits()), 'waitFor', () => {
        if (!this.#includes(informer.version, mark)) violate('waits', `waitFor ${mark} ended at ${informer.version}`)
      })
      return
    }
    const wait = subscription.waitFor(mark, this.#limits())
    const ended = (): void => {
      const { version } = subscription
      if (!this.#includes(version, mark) && !follower.isClosed)
        violate('waits', `waitFor ${mark} of ${follower.name} ended at ${version}`)
    }
    // Closed by an overflow, a subscription ends its waits with that error.
    this.#wait(wait, `waitFor of ${follower.name}`, ended, follower)
  }

  fresh(): void {
    const { history, settings, violate } = this.#stage
    const { informer } = this.#drive
    if (!settings.hasOrder) return
    const before = history.head.version
    this.#wait(informer.fresh(this.#limits()), 'fresh', () => {
      if (!this.#includes(informer.version, before))
        violate('waits', `fresh ended at ${informer.version}, before ${before}`)
    })
  }

  synced(): void {
    const { informer } = this.#drive
    this.#wait(informer.synced(this.#limits()), 'synced', () => {
      if (informer.version === undefined) this.#stage.violate('I8', 'synced before the first list was in')
    })
  }

  relist(): void {
    const { violate } = this.#stage
    const { informer, opens, source } = this.#drive
    const { lists } = source
    opens.relistAsked(informer.status.state)
    this.#wait(informer.relist(this.#limits()), 'relist', () => {
      if (source.lists === lists) violate('waits', 'relist ended with no list that began after the call')
    })
  }

  until(key: string): void {
    const { informer } = this.#drive
    const { draws } = this.#stage
    const isThere = draws.chance('until', 0.5)
    const seen = informer.until(key, (object) => (object !== undefined) === isThere, {
      timeoutMs: 1 + draws.below('timeout', 20_000),
    })
    this.#wait(seen, `until ${nameOf(key)}`, (object) => {
      if ((object !== undefined) !== isThere)
        this.#stage.violate('waits', `until ${nameOf(key)} ended with ${object?.n}`)
    })
  }

  #limits(): Wait {
    return this.#stage.draws.chance('limit', 0.3)
      ? { timeoutMs: 1 + this.#stage.draws.below('timeout', 5_000) }
      : { timeoutMs: 600_000 }
  }

  /** Whether a version includes a mark, or belongs to a later epoch by now. */
  #includes(version: string | undefined, mark: string): boolean {
    const { history } = this.#stage
    if (version === undefined) return false
    const [at, wanted] = [history.at(version), history.at(mark)]
    return at.epoch > wanted.epoch || (at.epoch === wanted.epoch && at.sequence >= wanted.sequence)
  }

  #wait<V>(promise: Promise<V>, what: string, ended: (value: V) => void, follower?: Follower): void {
    const { note, mark, violate } = this.#stage
    note('waits', what)
    const id = `${what} (${++this.#count})`
    this.#waiting.set(id, follower)
    promise.then(
      (value) => {
        this.#waiting.delete(id)
        note('a wait ends', what)
        ended(value)
      },
      (error: unknown) => {
        this.#waiting.delete(id)
        const code = error instanceof SourceError ? error.code : String(error)
        note('a wait fails', what, code)
        if (code === 'TIMEOUT') mark('a wait ended because its time was over')
        else if (code === 'EPOCH_CHANGED') mark('a wait ended because the epoch changed')
        else if (!this.#mayFailWith(code) && !(code === 'HANDLER' && follower?.mayOverflow))
          violate('waits', `${what} ended with ${error}`)
      },
    )
  }

  /** A source that refuses, or is gone, says so to who waits for it; and a stop ends all waits. */
  #mayFailWith(code: string): boolean {
    return ['STOPPED', 'UNAVAILABLE', 'UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL', 'DECODE'].includes(code)
  }
}

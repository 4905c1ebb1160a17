import type { Version } from '../../src/version.js'
import type { Wait } from '../../src/waits.js'
import type { Follower } from './follower.js'
import type { InformerDrive } from './informer-drive.js'
import { forkedSince, PendingWaits } from './pending.js'
import { nameOf, type Stage } from './stage.js'

/** Those who wait for something; each must end in time, and rightly. */
export class Waiters {
  readonly pending: PendingWaits
  readonly #drive: InformerDrive
  readonly #stage: Stage

  constructor(drive: InformerDrive) {
    this.#drive = drive
    this.#stage = drive.stage
    this.pending = new PendingWaits(drive.stage)
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
    const limits = this.#limits('waitFor')
    const hasForked = this.#forked(follower?.subscription?.version)
    if (follower === undefined || subscription === undefined) {
      this.pending.wait(informer.waitFor(mark, limits), {
        what: 'waitFor',
        limits,
        isDue: () => this.#includes(informer.version, mark),
        mayFail: (code) => this.#isStopped(code) || (code === 'EPOCH_CHANGED' && hasForked()),
        ended: () => {
          if (!this.#includes(informer.version, mark)) violate('waits', `waitFor ${mark} ended at ${informer.version}`)
        },
      })
      return
    }
    this.pending.wait(subscription.waitFor(mark, limits), {
      what: `waitFor of ${follower.name}`,
      limits,
      isHopeless: () => follower.isStuckForEver,
      isDue: () => this.#includes(subscription.version, mark),
      mayFail: (code) => this.#isStopped(code, follower) || (code === 'EPOCH_CHANGED' && hasForked()),
      ended: () => {
        const { version } = subscription
        if (!this.#includes(version, mark) && !follower.isClosed)
          violate('waits', `waitFor ${mark} of ${follower.name} ended at ${version}`)
      },
    })
  }

  fresh(): void {
    const { history, settings, violate } = this.#stage
    const { informer, source } = this.#drive
    if (!settings.hasOrder) return
    const before = history.head.version
    const limits = this.#limits('fresh')
    const hasForked = this.#forked()
    const { headFailures } = source
    this.pending.wait(informer.fresh(limits), {
      what: 'fresh',
      limits,
      mayFail: (code) =>
        this.#isStopped(code) ||
        (code === 'EPOCH_CHANGED' && hasForked()) ||
        (source.headFailures > headFailures && TRANSIENT.includes(code)),
      ended: () => {
        if (!this.#includes(informer.version, before))
          violate('waits', `fresh ended at ${informer.version}, before ${before}`)
      },
    })
  }

  synced(): void {
    const { informer, source } = this.#drive
    const limits = this.#limits('synced')
    this.pending.wait(informer.synced(limits), {
      what: 'synced',
      limits,
      isDue: () => informer.version !== undefined,
      // A source that refuses for good says so to who waits for its first list.
      mayFail: (code) => this.#isStopped(code) || code === source.refusedWith,
      ended: () => {
        if (informer.version === undefined) this.#stage.violate('I8', 'synced before the first list was in')
      },
    })
  }

  relist(): void {
    const { violate } = this.#stage
    const { informer, opens, source } = this.#drive
    const { lists } = source
    const limits = this.#limits('relist')
    if (limits.signal?.aborted !== true) opens.relistAsked(informer.status.state)
    this.pending.wait(informer.relist(limits), {
      what: 'relist',
      limits,
      mayFail: (code) => this.#isStopped(code),
      ended: () => {
        if (source.lists === lists) violate('waits', 'relist ended with no list that began after the call')
      },
    })
  }

  until(key: string): void {
    const { informer } = this.#drive
    const { draws } = this.#stage
    const isThere = draws.chance('until', 0.5)
    const limits = this.#drive.callers.sign('until', { timeoutMs: 1 + draws.below('timeout', 20_000) })
    const condition = (object: object | undefined): boolean => (object !== undefined) === isThere
    this.pending.wait(informer.until(key, condition, limits), {
      what: `until ${nameOf(key)}`,
      limits,
      isDue: () => informer.version !== undefined && condition(informer.get(key)),
      mayFail: (code) => this.#isStopped(code),
      ended: (object) => {
        if (!condition(object)) this.#stage.violate('waits', `until ${nameOf(key)} ended with ${object?.n}`)
      },
    })
  }

  #limits(what: string): Wait {
    const { draws } = this.#stage
    const timeoutMs = draws.chance('limit', 0.3) ? 1 + draws.below('timeout', 5_000) : 600_000
    return this.#drive.callers.sign(what, { timeoutMs })
  }

  /** Whether a version includes a mark, or belongs to a later epoch by now. */
  #includes(version: string | undefined, mark: string): boolean {
    const { history } = this.#stage
    if (version === undefined) return false
    const [at, wanted] = [history.at(version), history.at(mark)]
    return at.epoch > wanted.epoch || (at.epoch === wanted.epoch && at.sequence >= wanted.sequence)
  }

  /** Whether the history has forked since now: since what the store shows, or what somebody has heard of it. */
  #forked(version: Version | undefined = this.#drive.informer.version): () => boolean {
    return forkedSince(this.#stage.history, version)
  }

  /** A stop ends all waits; who is closed, or has overflowed, its own. */
  #isStopped(code: string, follower?: Follower): boolean {
    if (code === 'STOPPED') return this.#drive.isStopping || follower?.isClosed === true
    return code === 'HANDLER' && follower?.mayOverflow === true
  }
}

/** What a source that cannot say where it is may answer. */
export const TRANSIENT: readonly string[] = ['UNAVAILABLE', 'TIMEOUT', 'DECODE']

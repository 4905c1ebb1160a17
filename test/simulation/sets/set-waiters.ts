import type { Version } from '../../../src/contract/version.js'
import { forkedSince, includes, isReached } from '../checkers/waiter-checker.js'
import { InformerWaiters, TRANSIENT } from '../workload/informer-waiters.js'
import type { SetDriver } from './set-driver.js'
import type { SetMember } from './set-member.js'

/** A source at the beginning of a wait. */
interface WaitStart {
  readonly member: SetMember
  readonly removals: number
  readonly mark: Version
  readonly lists: number
  readonly headFailures: number
  hasForked(): boolean
}

/** Callers that wait for one source, or for all; each wait must end in time and for a correct reason. */
export class SetWaiters extends InformerWaiters<SetDriver> {
  protected override get isReadable(): boolean {
    return this.driver.informer.status.isSynced
  }

  /** Read-your-writes: waits for the current version of one of the sources, by the store or by a subscription. */
  forHead(): void {
    const { decisions, settings, violate } = this.scenario
    const { informer, followers, members } = this.driver
    const member = decisions.pick('whose head', members.current)
    if (member === undefined || !settings.hasOrder) return
    const start = this.#startOf(member)
    const { mark } = start
    const source = member.name
    const follower = decisions.chance('wait of', 0.5) ? decisions.pick('whose wait', followers) : undefined
    if (follower?.neverSettles || follower?.isClosed) return
    const { subscription } = follower ?? {}
    const limits = this.limits('waitFor')
    const mayFail = (code: string): boolean =>
      this.isStopped(code, follower) || this.#isGone(code, start) || (code === 'EPOCH_CHANGED' && start.hasForked())
    if (follower === undefined || subscription === undefined) {
      this.pending.wait(informer.waitFor(mark, { ...limits, source }), {
        what: `waitFor ${source}`,
        notifiesSource: 'perhaps',
        limits,
        // A wait for a removed source ends. While objects are being deleted because access was lost, readers see them.
        isDue: () => !isStill(start) || (member.access?.isCleared !== true && this.#isReached(start)),
        mayFail,
        ended: () => {
          if (isStill(start) && !this.#includes(start))
            violate('waits', `waitFor ${mark} of ${source} ended at ${informer.versions.get(source)}`)
        },
      })
      return
    }
    this.pending.wait(subscription.waitFor(mark, { ...limits, source }), {
      what: `waitFor ${source} of ${follower.name}`,
      notifiesSource: 'perhaps',
      limits,
      mayNeverEnd: () => follower.neverSettles,
      hasConsumerEnded: () => follower.isClosed,
      mayFail,
      ended: () => {
        // At the time of a loss, the follower may have received it after the wait has ended.
        const isLosing = member.access?.at === this.scenario.clock.elapsed
        if (isStill(start) && !isLosing && !follower.isClosed && !members.overlap && !member.settings.isBreach)
          follower.checkReached(member, mark)
      },
    })
  }

  fresh(): void {
    const { settings, violate } = this.scenario
    const { informer, members } = this.driver
    if (!settings.hasOrder) return
    const all = members.current.map((member) => this.#startOf(member))
    const limits = this.limits('fresh')
    this.pending.wait(informer.fresh(limits), {
      what: 'fresh',
      notifiesSource: 'perhaps',
      limits,
      mayFail: (code) => this.isStopped(code) || all.some((start) => this.#isUnclear(code, start)),
      ended: () => {
        // The objects of one source may be deleted after it was fresh, during the wait for another one.
        for (const start of all)
          if (isStill(start) && !this.#includes(start) && !settings.clears)
            violate(
              'waits',
              `fresh ended with ${start.member.name} at ${informer.versions.get(start.member.name)}, before ${start.mark}`,
            )
      },
    })
  }

  synced(): void {
    const { informer, members } = this.driver
    const names = members.current.map((member) => this.#startOf(member))
    const limits = this.limits('synced')
    this.pending.wait(informer.synced(limits), {
      what: 'synced',
      limits,
      // A fatal refusal rejects the waits for the first list. The source may be opened again before that is noticed.
      mayFail: (code) => this.isStopped(code) || members.all.some(({ source }) => source.lastRefusal === code),
      ended: () => {
        for (const start of names)
          if (isStill(start) && informer.status.sources?.[start.member.name]?.isSynced !== true)
            this.scenario.violate('I8', `synced before the first list of ${start.member.name} was in`)
      },
    })
  }

  /** Returns false if no relist can be requested now. */
  relist(): boolean {
    const { violate } = this.scenario
    const { informer, members } = this.driver
    if (members.current.some((member) => this.#isAboutToOpen(member))) return false
    const all = members.current.map((member) => this.#startOf(member))
    const limits = this.limits('relist')
    if (limits.signal?.aborted !== true)
      for (const { name, reflectorChecker } of members.current)
        reflectorChecker?.relistRequested(this.driver.stateOf(name) ?? '')
    this.pending.wait(informer.relist(limits), {
      what: 'relist',
      limits,
      mayFail: (code) => this.isStopped(code),
      ended: () => {
        for (const start of all)
          if (isStill(start) && start.member.source.lists === start.lists)
            violate('waits', `relist ended with no list of ${start.member.name} that began after the call`)
      },
    })
    return true
  }

  /** Whether its reflector is about to open the source: the effect of a relist is not visible then. */
  #isAboutToOpen(member: SetMember): boolean {
    const { reflectorState: state, reflectorChecker } = member
    if (reflectorChecker?.isBetween !== true || this.driver.relistSlots?.isWaiting(member) === true) return false
    return state === 'connecting' || state?.endsWith('listing') === true
  }

  /** Whether the store includes the mark, or is in a later epoch. */
  #includes({ member, mark }: WaitStart): boolean {
    return includes(member.history, this.driver.informer.versions.get(member.name), mark)
  }

  /**
   * Whether the store includes the mark in the same epoch. A mark of an earlier epoch waits until the source has
   * responded.
   */
  #isReached({ member, mark }: WaitStart): boolean {
    return isReached(member.history, this.driver.informer.versions.get(member.name), mark)
  }

  #startOf(member: SetMember): WaitStart {
    const { removals, source, history } = member
    const { lists, headFailures } = source
    const mark = history.head.version
    return { member, removals, mark, lists, headFailures, hasForked: forkedSince(history, mark) }
  }

  #isGone(code: string, start: WaitStart): boolean {
    if (code !== 'STOPPED' || isStill(start)) return false
    this.scenario.mark('a wait ended because its source was taken out')
    return true
  }

  /** Whether this source did not report its version, or cannot reach it. */
  #isUnclear(code: string, start: WaitStart): boolean {
    if (this.#isGone(code, start) || (code === 'EPOCH_CHANGED' && start.hasForked())) return true
    // Another source of this name may have been added meanwhile.
    const hasFailed = !isStill(start) || start.member.source.headFailures > start.headFailures
    return hasFailed && TRANSIENT.includes(code)
  }
}

/** Whether the same source is still there. */
function isStill({ member, removals }: WaitStart): boolean {
  return member.removals === removals
}

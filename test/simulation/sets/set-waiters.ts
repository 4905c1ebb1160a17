import type { Version } from '../../../src/contract/version.js'
import type { Wait } from '../../../src/util/deadline.js'
import type { Item } from '../backend/history.js'
import { forkedSince, WaiterChecker } from '../checkers/waiter-checker.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import { UntilCondition } from '../workload/until-condition.js'
import { TRANSIENT } from '../workload/waiters.js'
import type { SetDriver } from './set-driver.js'
import type { SetFollower } from './set-follower.js'
import type { SetMember } from './set-member.js'

/** A source as it was when somebody began to wait for it. */
interface Asked {
  readonly slot: SetMember
  readonly removals: number
  readonly mark: Version
  readonly lists: number
  readonly headFailures: number
  hasForked(): boolean
}

/** Those who wait for something of one source, or of all; each must end in time, and rightly. */
export class SetWaiters {
  readonly pending: WaiterChecker
  readonly #drive: SetDriver
  readonly #scene: Scenario

  constructor(drive: SetDriver) {
    this.#drive = drive
    this.#scene = drive.stage
    this.pending = new WaiterChecker(drive.stage)
  }

  /** Read-your-writes: waits for where one of the sources is now, by the store or by a subscription. */
  forHead(): void {
    const { draws, settings, violate } = this.#scene
    const { informer, followers, slots } = this.#drive
    const slot = draws.pick('whose head', slots.members)
    if (slot === undefined || !settings.hasOrder) return
    const asked = this.#asking(slot)
    const { mark } = asked
    const source = slot.name
    const follower = draws.chance('wait of', 0.5) ? draws.pick('whose wait', followers) : undefined
    if (follower?.isStuckForEver || follower?.isClosed) return
    const { subscription } = follower ?? {}
    const limits = this.#limits('waitFor')
    const mayFail = (code: string): boolean =>
      this.#isStopped(code, follower) || this.#isGone(code, asked) || (code === 'EPOCH_CHANGED' && asked.hasForked())
    if (follower === undefined || subscription === undefined) {
      this.pending.wait(informer.waitFor(mark, { ...limits, source }), {
        what: `waitFor ${source}`,
        asks: 'perhaps',
        limits,
        // Nobody waits for a source that was taken out.
        isDue: () => !isStill(asked) || this.#isReached(asked),
        mayFail,
        ended: () => {
          if (isStill(asked) && !this.#includes(asked))
            violate('waits', `waitFor ${mark} of ${source} ended at ${informer.versions.get(source)}`)
        },
      })
      return
    }
    this.pending.wait(subscription.waitFor(mark, { ...limits, source }), {
      what: `waitFor ${source} of ${follower.name}`,
      asks: 'perhaps',
      limits,
      isHopeless: () => follower.isStuckForEver,
      mayFail,
      ended: () => {
        // At the moment of a loss somebody may have been told of it since the wait has ended.
        const isLosing = slot.access?.at === this.#scene.clock.elapsed
        if (isStill(asked) && !isLosing && !follower.isClosed && !slots.overlap && !slot.settings.isBreach)
          follower.checkReached(slot, mark)
      },
    })
  }

  fresh(): void {
    const { settings, violate } = this.#scene
    const { informer, slots } = this.#drive
    if (!settings.hasOrder) return
    const all = slots.members.map((slot) => this.#asking(slot))
    const limits = this.#limits('fresh')
    this.pending.wait(informer.fresh(limits), {
      what: 'fresh',
      asks: 'perhaps',
      limits,
      mayFail: (code) => this.#isStopped(code) || all.some((asked) => this.#isUnclear(code, asked)),
      ended: () => {
        // The objects of one source may be deleted after it was fresh, while another one is waited for.
        for (const asked of all)
          if (isStill(asked) && !this.#includes(asked) && !settings.clears)
            violate(
              'waits',
              `fresh ended with ${asked.slot.name} at ${informer.versions.get(asked.slot.name)}, before ${asked.mark}`,
            )
      },
    })
  }

  synced(): void {
    const { informer, slots } = this.#drive
    const names = slots.members.map((slot) => this.#asking(slot))
    const limits = this.#limits('synced')
    this.pending.wait(informer.synced(limits), {
      what: 'synced',
      limits,
      // A source that refuses for good says so to who waits for its first list.
      mayFail: (code) => this.#isStopped(code) || slots.all.some(({ source }) => source.refusedWith === code),
      ended: () => {
        for (const asked of names)
          if (isStill(asked) && informer.status.sources?.[asked.slot.name]?.isSynced !== true)
            this.#scene.violate('I8', `synced before the first list of ${asked.slot.name} was in`)
      },
    })
  }

  /** Gives false where this is no moment to ask. */
  relist(): boolean {
    const { violate } = this.#scene
    const { informer, slots } = this.#drive
    if (slots.members.some((slot) => this.#isAboutToOpen(slot))) return false
    const all = slots.members.map((slot) => this.#asking(slot))
    const limits = this.#limits('relist')
    if (limits.signal?.aborted !== true)
      for (const { name, judge } of slots.members) judge?.relistAsked(this.#drive.stateOf(name) ?? '')
    this.pending.wait(informer.relist(limits), {
      what: 'relist',
      limits,
      mayFail: (code) => this.#isStopped(code),
      ended: () => {
        for (const asked of all)
          if (isStill(asked) && asked.slot.source.lists === asked.lists)
            violate('waits', `relist ended with no list of ${asked.slot.name} that began after the call`)
      },
    })
    return true
  }

  until(key: string): void {
    const { informer } = this.#drive
    const { draws, violate } = this.#scene
    const isThere = draws.chance('until', 0.5)
    const limits = this.#drive.callers.sign('until', { timeoutMs: 1 + draws.below('timeout', 20_000) })
    const condition = (object: object | undefined): boolean => (object !== undefined) === isThere
    const asked = new UntilCondition<Item | undefined>(this.#scene, condition)
    this.pending.wait(asked.until(informer.until(key, asked.holds, limits)), {
      what: `until ${nameOf(key)}`,
      limits,
      isDue: () => informer.status.isSynced && condition(informer.get(key)),
      mayFail: (code) => this.#isStopped(code),
      ended: (object) => {
        if (!condition(object)) violate('waits', `until ${nameOf(key)} ended with ${object?.n}`)
      },
    })
  }

  /** Its reflector says that it reads, and the source has not been asked yet; who intervenes now cannot be judged from outside. */
  #isAboutToOpen(slot: SetMember): boolean {
    const { state, judge } = slot
    if (judge?.isBetween !== true || this.#drive.turns?.isWaiting(slot) === true) return false
    return state === 'connecting' || state?.endsWith('listing') === true
  }

  #limits(what: string): Wait {
    const { draws } = this.#scene
    const timeoutMs = draws.chance('limit', 0.3) ? 1 + draws.below('timeout', 5_000) : 600_000
    return this.#drive.callers.sign(what, { timeoutMs })
  }

  /** Whether the store includes it, or is in a later epoch by now. */
  #includes({ slot, mark }: Asked): boolean {
    const version = this.#drive.informer.versions.get(slot.name)
    if (version === undefined) return false
    const [at, wanted] = [slot.history.at(version), slot.history.at(mark)]
    return at.epoch > wanted.epoch || (at.epoch === wanted.epoch && at.sequence >= wanted.sequence)
  }

  /** The same in one epoch. A mark of an epoch that is over waits until the source was asked. */
  #isReached(asked: Asked): boolean {
    const { slot, mark } = asked
    const version = this.#drive.informer.versions.get(slot.name) ?? mark
    return this.#includes(asked) && slot.history.at(version).epoch === slot.history.at(mark).epoch
  }

  #asking(slot: SetMember): Asked {
    const { removals, source, history } = slot
    const { lists, headFailures } = source
    const mark = history.head.version
    return { slot, removals, mark, lists, headFailures, hasForked: forkedSince(history, mark) }
  }

  /** A stop ends all waits; who is closed, or has overflowed, its own. */
  #isStopped(code: string, follower?: SetFollower): boolean {
    if (code === 'STOPPED') return this.#drive.isStopping || follower?.isClosed === true
    return code === 'HANDLER' && follower?.mayOverflow === true
  }

  #isGone(code: string, asked: Asked): boolean {
    if (code !== 'STOPPED' || isStill(asked)) return false
    this.#scene.mark('a wait ended because its source was taken out')
    return true
  }

  /** Whether this one did not say where it is, or cannot get there. */
  #isUnclear(code: string, asked: Asked): boolean {
    if (this.#isGone(code, asked) || (code === 'EPOCH_CHANGED' && asked.hasForked())) return true
    // Another source of this name may have come meanwhile.
    const hasFailed = !isStill(asked) || asked.slot.source.headFailures > asked.headFailures
    return hasFailed && TRANSIENT.includes(code)
  }
}

/** Whether the same source is still there. */
function isStill({ slot, removals }: Asked): boolean {
  return slot.removals === removals
}

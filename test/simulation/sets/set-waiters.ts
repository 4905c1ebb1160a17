import { SourceError } from '../../../src/errors.js'
import type { Version } from '../../../src/version.js'
import type { Wait } from '../../../src/waits.js'
import { nameOf, type Scene } from '../stage.js'
import type { SetDrive } from './set-drive.js'
import type { SetFollower } from './set-follower.js'
import type { Slot } from './slot.js'

/** A source as it was when somebody began to wait for it. */
interface Asked {
  readonly slot: Slot
  readonly removals: number
  readonly mark: Version
  readonly lists: number
}

interface Waiting {
  readonly follower: SetFollower | undefined
  /** The one source that it is about. */
  readonly asked: Asked | undefined
}

/** Those who wait for something of one source, or of all; each must end in time, and rightly. */
export class SetWaiters {
  readonly #drive: SetDrive
  readonly #scene: Scene
  readonly #waiting = new Map<string, Waiting>()
  #count = 0

  constructor(drive: SetDrive) {
    this.#drive = drive
    this.#scene = drive.stage
  }

  /** Somebody who still waits, and not for a handler that will never be done. */
  get waiting(): string | undefined {
    for (const [what, { follower }] of this.#waiting) if (follower?.isStuckForEver !== true) return what
    return undefined
  }

  /** Nobody waits for a source that was taken out. */
  look(): void {
    for (const [what, { asked, follower }] of this.#waiting)
      if (asked !== undefined && follower === undefined && !isStill(asked))
        this.#scene.violate('sets', `${what} waits for ${asked.slot.name}, which was taken out`)
  }

  /** Read-your-writes: waits for where one of the sources is now, by the store or by a subscription. */
  forHead(): void {
    const { draws, settings, violate } = this.#scene
    const { informer, followers, slots } = this.#drive
    const slot = draws.pick('whose head', slots.members)
    if (slot === undefined || !settings.hasOrder) return
    const asked = asking(slot)
    const { mark } = asked
    const source = slot.name
    const follower = draws.chance('wait of', 0.5) ? draws.pick('whose wait', followers) : undefined
    if (follower?.isStuckForEver || follower?.isClosed) return
    const { subscription } = follower ?? {}
    if (follower === undefined || subscription === undefined) {
      this.#wait(informer.waitFor(mark, { ...this.#limits(), source }), `waitFor ${source}`, { asked }, () => {
        if (isStill(asked) && !this.#includes(asked))
          violate('waits', `waitFor ${mark} of ${source} ended at ${informer.versions.get(source)}`)
      })
      return
    }
    const what = `waitFor ${source} of ${follower.name}`
    this.#wait(subscription.waitFor(mark, { ...this.#limits(), source }), what, { asked, follower }, () => {
      if (isStill(asked) && !follower.isClosed && !slots.overlap && !slot.settings.isBreach)
        follower.checkReached(slot, mark)
    })
  }

  fresh(): void {
    const { settings, violate } = this.#scene
    const { informer, slots } = this.#drive
    if (!settings.hasOrder) return
    const all = slots.members.map(asking)
    this.#wait(informer.fresh(this.#limits()), 'fresh', {}, () => {
      for (const asked of all)
        if (isStill(asked) && !this.#includes(asked))
          violate(
            'waits',
            `fresh ended with ${asked.slot.name} at ${informer.versions.get(asked.slot.name)}, before ${asked.mark}`,
          )
    })
  }

  synced(): void {
    const { informer, slots } = this.#drive
    const names = slots.members.map(asking)
    this.#wait(informer.synced(this.#limits()), 'synced', {}, () => {
      for (const asked of names)
        if (isStill(asked) && !informer.versions.has(asked.slot.name))
          this.#scene.violate('I8', `synced before the first list of ${asked.slot.name} was in`)
    })
  }

  /** Gives false where this is no moment to ask. */
  relist(): boolean {
    const { violate } = this.#scene
    const { informer, slots } = this.#drive
    if (slots.members.some((slot) => this.#isAboutToOpen(slot))) return false
    const all = slots.members.map(asking)
    for (const { name, judge } of slots.members) judge?.relistAsked(this.#drive.stateOf(name) ?? '')
    this.#wait(informer.relist(this.#limits()), 'relist', {}, () => {
      for (const asked of all)
        if (isStill(asked) && asked.slot.source.lists === asked.lists)
          violate('waits', `relist ended with no list of ${asked.slot.name} that began after the call`)
    })
    return true
  }

  until(key: string): void {
    const { informer } = this.#drive
    const { draws, violate } = this.#scene
    const isThere = draws.chance('until', 0.5)
    const timeoutMs = 1 + draws.below('timeout', 20_000)
    const seen = informer.until(key, (object) => (object !== undefined) === isThere, { timeoutMs })
    this.#wait(seen, `until ${nameOf(key)}`, {}, (object) => {
      if ((object !== undefined) !== isThere) violate('waits', `until ${nameOf(key)} ended with ${object?.n}`)
    })
  }

  /** Its reflector says that it reads, and the source has not been asked yet; who intervenes now cannot be judged from outside. */
  #isAboutToOpen(slot: Slot): boolean {
    const { state, judge } = slot
    if (judge?.isBetween !== true || this.#drive.turns?.isWaiting(slot) === true) return false
    return state === 'connecting' || state?.endsWith('listing') === true
  }

  #limits(): Wait {
    const { draws } = this.#scene
    return { timeoutMs: draws.chance('limit', 0.3) ? 1 + draws.below('timeout', 5_000) : 600_000 }
  }

  /** Whether the store includes it, or is in a later epoch by now. */
  #includes({ slot, mark }: Asked): boolean {
    const version = this.#drive.informer.versions.get(slot.name)
    if (version === undefined) return false
    const [at, wanted] = [slot.history.at(version), slot.history.at(mark)]
    return at.epoch > wanted.epoch || (at.epoch === wanted.epoch && at.sequence >= wanted.sequence)
  }

  #wait<V>(promise: Promise<V>, what: string, whose: Partial<Waiting>, ended: (value: V) => void): void {
    const { note, mark, violate } = this.#scene
    const { follower, asked } = whose
    note('waits', what)
    const id = `${what} (${++this.#count})`
    this.#waiting.set(id, { follower, asked })
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
        if (code === 'STOPPED' && asked !== undefined && !isStill(asked))
          mark('a wait ended because its source was taken out')
        else if (code === 'STOPPED' && asked !== undefined && !this.#drive.isStopping && follower?.isClosed !== true)
          violate('waits', `${what} was refused as stopped, and nothing was stopped`)
        if (code !== 'TIMEOUT' && code !== 'EPOCH_CHANGED' && !MAY_FAIL_WITH.includes(code))
          if (code !== 'HANDLER' || follower?.mayOverflow !== true) violate('waits', `${what} ended with ${error}`)
      },
    )
  }
}

/** A source that refuses, or is gone, says so to who waits for it; and a stop ends all waits. */
const MAY_FAIL_WITH = ['STOPPED', 'UNAVAILABLE', 'UNAUTHORIZED', 'NOT_FOUND', 'PROTOCOL', 'DECODE']

function asking(slot: Slot): Asked {
  return { slot, removals: slot.removals, mark: slot.history.head.version, lists: slot.source.lists }
}

/** Whether the same source is still there. */
function isStill({ slot, removals }: Asked): boolean {
  return slot.removals === removals
}

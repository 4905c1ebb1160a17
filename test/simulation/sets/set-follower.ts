import type { Version } from '../../../src/contract/version.js'
import type { Change } from '../../../src/queue/change.js'
import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import type { Item, Stored } from '../backend/history.js'
import type { DrainedSubscriptionChecker } from '../checkers/drained-subscription-checker.js'
import type { HandlerCallChecker } from '../checkers/handler-call-checker.js'
import type { QueueChecker } from '../checkers/queue-checker.js'
import type { ResyncChecker } from '../checkers/resync-checker.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { IsIn } from '../workload/follower.js'
import type { HandlerFollower } from '../workload/handler-script.js'
import type { SetMember } from './set-member.js'
import type { SetMembers } from './set-members.js'

interface SetFollowerOptions {
  readonly name: string
  readonly isIn: IsIn
  /** The incarnation of its source in which a change came, if known. */
  readonly incarnationOf: (member: SetMember, change: Change<Item>) => number | undefined
}

/** A receiver of changes of a set. Checks what it receives (I3, I4), and its objects in the end (I5). */
export class SetFollower implements HandlerFollower {
  readonly name: string
  readonly known = new Map<string, Item>()
  readonly #scenario: Scenario
  readonly #members: SetMembers
  readonly #isIn: IsIn
  readonly #incarnationOf: SetFollowerOptions['incarnationOf']
  readonly #begun: () => void
  /** The newest content of each source and key, with its epoch and incarnation. */
  readonly #newest = new Map<string, { readonly n: number; readonly epoch: string }>()
  subscription: Subscription | undefined
  runs: HandlerCallChecker | undefined
  draining: DrainedSubscriptionChecker | undefined
  /** It may not receive any more changes. */
  isSilenced = false
  isClosed = false
  hasOverflowed = false
  /** Whether it is closed if it falls behind by more than its capacity. */
  mayOverflow = false
  queue: QueueChecker | undefined
  resyncs: ResyncChecker | undefined
  /** It received all queued changes, and then the end. */
  hasEnded = false
  neverSettles = false
  isStuck = false
  isHolding = false

  /** `begun` is called with each received change. */
  constructor(
    scenario: Scenario,
    members: SetMembers,
    { name, isIn, incarnationOf }: SetFollowerOptions,
    begun: () => void,
  ) {
    this.#scenario = scenario
    this.#members = members
    this.name = name
    this.#isIn = isIn
    this.#incarnationOf = incarnationOf
    this.#begun = begun
  }

  receive(change: Change<Item>): void {
    const { type, key, object, previous } = change
    const { note, violate } = this.#scenario
    note(this.name, type, nameOf(key), object.n, change.origin)
    if (this.isSilenced) violate('I15', `${this.name} received "${type}" of ${nameOf(key)} after its end`)
    const last = this.known.get(key)
    const isKnown = this.known.has(key)
    const what = `${this.name} received "${type}" of ${nameOf(key)}`
    if (isKnown !== (type !== 'add')) violate('I4', `${what}, ${isKnown ? 'which it has' : 'which it has not'}`)
    if (previous !== last) violate('I4', `${what} with another previous object than its last one`)
    if (type === 'update') this.#isSame(object, previous, what)
    if (change.origin === 'resync') {
      if (this.resyncs === undefined) violate('I4', `${what} as a resync, without resyncMs`)
      this.resyncs?.receive(change)
    }
    if (type === 'delete') this.known.delete(key)
    else {
      if (change.origin !== 'initial') this.#order(change)
      this.known.set(key, object)
    }
    this.#begun()
  }

  wants(member: SetMember, stored: Stored | undefined): boolean {
    return member.wants(stored) && this.#isIn(stored.item, stored.key)
  }

  get isQuiet(): boolean {
    const { subscription } = this
    if (this.isClosed || this.neverSettles || subscription === undefined) return true
    return subscription.backlog.keys === 0 && this.flaw === undefined
  }

  /** It reports that it has handled everything up to a version of a source. */
  checkReached(member: SetMember, mark: Version): void {
    const { history, settings } = member
    for (const key of settings.keys) {
      const n = this.known.get(key)?.n
      const uid = settings.hasUids && n === undefined ? history.at(mark).state.get(key)?.uid : undefined
      const isSo = (stored: Stored | undefined): boolean =>
        stored?.isInvalid === true ||
        (this.wants(member, stored) ? stored?.item.n === n : n === undefined) ||
        (uid !== undefined && stored?.uid !== uid)
      if (!history.isAtOrAfter(key, isSo, mark))
        this.#scenario.violate(
          'I7',
          `${this.name} has handled ${member.name} up to ${mark}, and has ${nameOf(key)} = n${n}`,
        )
    }
  }

  /** After a drain it has the objects of the store. */
  checkDrained(store: ReadonlyMap<string, Item>): void {
    const { settings, violate } = this.#scenario
    for (const key of settings.keys) {
      const object = store.get(key)
      const wanted = object !== undefined && this.#isIn(object, key) ? object.n : undefined
      const n = this.known.get(key)?.n
      if (n !== wanted) violate('I5', `${this.name} was drained with ${nameOf(key)} = n${n}, the store has n${wanted}`)
    }
  }

  /** The difference to the sources at rest. */
  get flaw(): string | undefined {
    if (this.isClosed || this.neverSettles) return undefined
    return this.#members.flaw((key) => this.known.get(key), `${this.name} ends with`, this.#isIn)
  }

  #isSame(object: Item, previous: Item, what: string): void {
    const [is, was] = [this.#members.writerOf(object.n), this.#members.writerOf(previous.n)]
    if (is === undefined || was === undefined) return
    if (is.member !== was.member) this.#scenario.violate('sets', `${what}, which another source had before`)
    else if (is.member.settings.hasUids && is.uid !== was.uid)
      this.#scenario.violate('I4', `${what}, which is another object now`)
  }

  /**
   * Within one epoch of a source, contents never go back, and none is delivered twice as an update. A source that was
   * removed may be behind when it is added again.
   */
  #order(change: Change<Item>): void {
    const { type, key, object, version } = change
    const { n } = object
    const { violate, mark } = this.#scenario
    const member = this.#members.writerOf(n)?.member
    if (version === undefined || member === undefined || member.settings.isBreach) return
    const id = `${member.name} ${key}`
    const incarnation = member.removals === 0 ? 0 : this.#incarnationOf(member, change)
    if (incarnation === undefined) {
      this.#newest.delete(id)
      return
    }
    const epoch = `${incarnation} ${version.slice(0, version.indexOf('.'))}`
    const newest = this.#newest.get(id)
    this.#newest.set(id, { n, epoch })
    if (newest?.epoch !== epoch) return
    if (incarnation > 0) mark('a source that came back sent a key several times')
    if (n < newest.n) violate('I3', `${this.name} received n${n} of ${nameOf(key)} after n${newest.n}`)
    if (n === newest.n && type === 'update' && member.isWrittenOnce(n))
      violate('I3', `${this.name} received n${n} of ${nameOf(key)} again`)
  }
}

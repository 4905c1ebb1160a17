import type { Version } from '../../../src/contract/version.js'
import type { Change } from '../../../src/queue/change.js'
import type { Subscription } from '../../../src/subscriptions/subscription-types.js'
import type { Item, Stored } from '../backend/history.js'
import type { DrainedSubscriptionChecker } from '../checkers/drained-subscription-checker.js'
import { type Handled, HandledVersionChecker } from '../checkers/handled-version-checker.js'
import type { HandlerCallChecker } from '../checkers/handler-call-checker.js'
import type { QueueChecker } from '../checkers/queue-checker.js'
import type { ResyncChecker } from '../checkers/resync-checker.js'
import { nameOf, type SourceScenario } from '../system/scenario.js'

/** The objects that a follower receives. */
export type IsIn = (item: Item, key: string) => boolean

/**
 * A receiver of changes. Checks what it receives (I3, I4), that its version is never ahead of what it has handled (I7),
 * and its objects in the end (I5).
 */
export class Follower implements Handled {
  readonly name: string
  readonly known = new Map<string, Item>()
  readonly #scenario: SourceScenario
  readonly #isIn: IsIn
  readonly #version: HandledVersionChecker
  /** The content of each key that it has handled. */
  readonly #handled = new Map<string, number>()
  /** The newest received content of each key, and its epoch. */
  readonly #newest = new Map<string, { readonly n: number; readonly epoch: number }>()
  subscription: Subscription | undefined
  /** The keys whose handler runs, and since when, until it was reported as slow. */
  readonly running = new Map<string, number>()
  runs: HandlerCallChecker | undefined
  draining: DrainedSubscriptionChecker | undefined
  /** It may not receive any more changes. */
  isSilenced = false
  isClosed = false
  hasOverflowed = false
  /** Whether it is closed if it falls behind by more than its capacity. */
  mayOverflow = false
  queue: QueueChecker | undefined
  /** Checks its resyncs; undefined if it has none. */
  resyncs: ResyncChecker | undefined
  /** It received all queued changes, and then the end. */
  hasEnded = false
  /** Its handler never settles. */
  neverSettles = false
  isStuck = false
  isHolding = false
  handledCount = 0

  constructor(scenario: SourceScenario, name: string, isIn: IsIn) {
    this.#scenario = scenario
    this.name = name
    this.#isIn = isIn
    this.#version = new HandledVersionChecker(scenario, name)
  }

  receive(change: Change<Item>): void {
    const { type, key, object, previous, version } = change
    const { note, violate, settings, history } = this.#scenario
    note(this.name, type, nameOf(key), object.n, change.origin)
    if (this.isSilenced) violate('I15', `${this.name} received "${type}" of ${nameOf(key)} after its end`)
    const last = this.known.get(key)
    const isKnown = this.known.has(key)
    if (isKnown !== (type !== 'add'))
      violate(
        'I4',
        `${this.name} received "${type}" of ${nameOf(key)}, ${isKnown ? 'which it has' : 'which it has not'}`,
      )
    if (previous !== last)
      violate('I4', `${this.name} received another previous object of ${nameOf(key)} than its last one`)
    // A field that changed by itself was never written, and has no identity.
    const [is, was] = [history.uidOf(object.n), type === 'update' ? history.uidOf(previous.n) : undefined]
    if (settings.hasUids && is !== undefined && was !== undefined && is !== was)
      violate('I4', `${this.name} received "update" of ${nameOf(key)}, which is another object now`)
    if (change.origin === 'resync') {
      if (this.resyncs === undefined) violate('I4', `${this.name} received a resync of ${nameOf(key)} without resyncMs`)
      this.resyncs?.receive(change)
    }
    if (change.origin === 'access-lost') this.#version.accessLost()
    if (type === 'delete') this.known.delete(key)
    else {
      if (!settings.isBreach && change.origin !== 'initial') this.#order(key, object.n, version, type === 'update')
      this.known.set(key, object)
    }
  }

  get isEnding(): boolean {
    return this.draining !== undefined
  }

  /** Whether the follower has to know an object of the source. */
  wants(stored: Stored | undefined): boolean {
    if (stored === undefined || stored.item.tenant === this.#scenario.settings.omits) return false
    return this.#isIn(stored.item, stored.key)
  }

  get isQuiet(): boolean {
    const { subscription } = this
    if (this.isClosed || this.neverSettles || subscription === undefined) return true
    const { history, settings } = this.#scenario
    // Incorrect bookmarks lead to incorrect versions.
    if (settings.isBreach && this.#flaw !== undefined) return false
    return subscription.version === history.head.version && subscription.backlog.keys === 0
  }

  /** It has handled the last received change of a key. */
  settled(key: string): void {
    const n = this.known.get(key)?.n
    this.handledCount++
    if (n === undefined) this.#handled.delete(key)
    else this.#handled.set(key, n)
  }

  handledOf(key: string): number | undefined {
    return this.#handled.get(key)
  }

  /** Its version is never ahead of the handled changes, also after it was closed. */
  checkStep(): void {
    if (this.subscription !== undefined) this.#version.checkStep(this.subscription.version, this)
  }

  /** After a drain it has the objects of the store. */
  checkDrained(store: ReadonlyMap<string, Item>): void {
    const { settings, violate } = this.#scenario
    for (const key of settings.keys) {
      const object = store.get(key)
      const wanted = object !== undefined && this.#isIn(object, key) ? object.n : undefined
      const n = this.known.get(key)?.n
      if (n !== wanted)
        violate('I5', `${this.name} was drained with ${nameOf(key)} = n${n ?? '–'}, the store has n${wanted ?? '–'}`)
    }
  }

  /** At rest it has the objects of the source. */
  check(): void {
    const flaw = this.#flaw
    if (flaw !== undefined) this.#scenario.violate('I5', flaw)
  }

  get #flaw(): string | undefined {
    if (this.isClosed || this.neverSettles) return undefined
    const { history, settings } = this.#scenario
    const { state } = history.head
    for (const key of settings.keys) {
      const stored = state.get(key)
      if (stored?.isInvalid) continue
      const n = this.known.get(key)?.n
      const wanted = this.wants(stored) ? stored?.item.n : undefined
      if (n !== wanted) return `${this.name} ends with ${nameOf(key)} = n${n ?? '–'}, the source with n${wanted ?? '–'}`
    }
    return undefined
  }

  #order(key: string, n: number, version: Version | undefined, isUpdate: boolean): void {
    if (version === undefined) return
    const { epoch } = this.#scenario.history.at(version)
    const newest = this.#newest.get(key)
    if (newest?.epoch === epoch && newest.n === n && isUpdate && this.#scenario.history.isWrittenOnce(n))
      this.#scenario.violate('I3', `${this.name} received n${n} of ${nameOf(key)} again`)
    if (newest !== undefined && newest.epoch === epoch && n < newest.n)
      this.#scenario.violate('I3', `${this.name} received n${n} of ${nameOf(key)} after n${newest.n}`)
    this.#newest.set(key, { n, epoch })
  }
}

import type { Change, Subscription } from '../../../src/index.js'
import type { Item } from '../backend/history.js'
import type { DrainedSubscriptionChecker } from '../checkers/drained-subscription-checker.js'
import type { HandlerCallChecker } from '../checkers/handler-call-checker.js'
import type { QueueChecker } from '../checkers/queue-checker.js'
import type { ResyncChecker } from '../checkers/resync-checker.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { Settings } from './settings.js'

/** The objects that a follower receives. */
export type IsIn = (item: Item, key: string) => boolean

/** The source that wrote a content. */
export interface Writer {
  readonly name: string
  readonly settings: Settings
  /** The number of times that the source was taken out. */
  readonly removals: number
  isWrittenOnce(n: number): boolean
  /** The identity of the object with this content. */
  uidOf(n: number): string | undefined
}

/** A receiver of changes of any number of sources. Checks what it receives (I3, I4), and its objects in the end (I5). */
export abstract class Follower<S extends Scenario = Scenario> {
  readonly name: string
  readonly known = new Map<string, Item>()
  protected readonly scenario: S
  protected readonly isIn: IsIn
  readonly #newest = new Map<string, { readonly n: number; readonly epoch: string }>()
  subscription: Subscription | undefined
  runs: HandlerCallChecker | undefined
  draining: DrainedSubscriptionChecker | undefined
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
  /** It has taken a batch and is still handling it. */
  isHolding = false
  /** The keys whose handler runs, and since when, until it was reported as slow. */
  readonly running?: Map<string, number>

  constructor(scenario: S, name: string, isIn: IsIn) {
    this.scenario = scenario
    this.name = name
    this.isIn = isIn
  }

  /** The source that wrote a content; undefined if the field of an object changed by itself. */
  protected abstract writerOf(n: number): Writer | undefined

  protected abstract incarnationOf(change: Change<Item>): number | undefined

  protected abstract get difference(): string | undefined

  abstract get isQuiet(): boolean

  get isEnding(): boolean {
    return this.draining !== undefined
  }

  receive(change: Change<Item>): void {
    const { type, key, object, previous, origin } = change
    const { note, violate } = this.scenario
    const isKnown = this.known.has(key)
    note(this.name, type, nameOf(key), object.n, origin)
    const what = (): string => `${this.name} received "${type}" of ${nameOf(key)}`
    if (this.isSilenced) violate('I15', `${what()} after its end`)
    if (isKnown !== (type !== 'add')) violate('I4', `${what()}, ${isKnown ? 'which it has' : 'which it has not'}`)
    if (previous !== this.known.get(key)) violate('I4', `${what()} with another previous object than its last one`)
    if (type === 'update') this.#checkIdentity(object, previous, what)
    if (origin === 'resync') {
      if (this.resyncs === undefined) violate('I4', `${what()} as a resync, without resyncMs`)
      this.resyncs?.receive(change)
    }
    if (type === 'delete') this.known.delete(key)
    else {
      if (origin !== 'initial') this.#order(change)
      this.known.set(key, object)
    }
  }

  /** It has handled the last received change of a key. */
  settled(_key: string): void {}

  /** After a drain it has the objects of the store. */
  checkDrained(store: ReadonlyMap<string, Item>): void {
    const { settings, violate } = this.scenario
    for (const key of settings.keys) {
      const object = store.get(key)
      const wanted = object !== undefined && this.isIn(object, key) ? object.n : undefined
      const n = this.known.get(key)?.n
      if (n !== wanted) violate('I5', `${this.name} was drained with ${nameOf(key)} = n${n}, the store has n${wanted}`)
    }
  }

  get flaw(): string | undefined {
    return this.isClosed || this.neverSettles ? undefined : this.difference
  }

  check(): void {
    const { flaw } = this
    if (flaw !== undefined) this.scenario.violate('I5', flaw)
  }

  #checkIdentity(object: Item, previous: Item, what: () => string): void {
    const [is, was] = [this.writerOf(object.n), this.writerOf(previous.n)]
    if (is === undefined || was === undefined) return
    const [uid, uidBefore] = [is.uidOf(object.n), was.uidOf(previous.n)]
    if (is !== was) this.scenario.violate('sets', `${what()}, which another source had before`)
    // A field that changed by itself was never written, and has no identity.
    else if (is.settings.hasUids && uid !== undefined && uidBefore !== undefined && uid !== uidBefore)
      this.scenario.violate('I4', `${what()}, which is another object now`)
  }

  /**
   * Within one epoch of a source, contents never go back, and none is delivered twice as an update. A source that was
   * removed may be behind when it is added again.
   */
  #order(change: Change<Item>): void {
    const { type, key, object, version } = change
    const { n } = object
    const { violate, mark } = this.scenario
    const writer = this.writerOf(n)
    if (version === undefined || writer === undefined || writer.settings.isBreach) return
    const id = `${writer.name} ${key}`
    const incarnation = writer.removals === 0 ? 0 : this.incarnationOf(change)
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
    if (n === newest.n && type === 'update' && writer.isWrittenOnce(n))
      violate('I3', `${this.name} received n${n} of ${nameOf(key)} again`)
  }
}

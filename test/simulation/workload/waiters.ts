import type { Subscription, Version, Wait } from '../../../src/index.js'
import { forkedSince, includes, isReached } from '../checkers/waiter-checker.js'
import type { InformerDriver } from '../system/informer-driver.js'
import { type Ending, InformerWaiters, TRANSIENT } from './informer-waiters.js'
import { Reconciler } from './reconciler.js'

/** Callers that wait; each wait must end in time and for a correct reason. */
export class Waiters extends InformerWaiters<InformerDriver> {
  #forkedAt: string | undefined

  protected override get isReadable(): boolean {
    return this.driver.reached !== undefined
  }

  get forkedAt(): Version | undefined {
    return this.#forkedAt
  }

  /** Read-your-writes: waits for the current version of the source, by the store or by a subscription. */
  forHead(): void {
    const { history, decisions, settings } = this.scenario
    const { followers } = this.driver
    if (!settings.hasOrder) return
    // Another client may have written the mark some time ago.
    const mark = history.before(decisions.chance('an older mark', 0.4) ? decisions.below('how old', 8) : 0).version
    const follower = decisions.chance('wait of', 0.5) ? decisions.pick('whose wait', followers) : undefined
    const { subscription } = follower ?? {}
    if (follower?.neverSettles || follower?.isClosed || follower?.isEnding) return
    const limits = this.limits('waitFor')
    if (follower === undefined || subscription === undefined) this.#forMark(mark, limits)
    else this.#ofHead(follower, subscription, limits)
  }

  /** Waits for the marks of several clients, in this order. */
  forMarks(marks: readonly Version[]): void {
    if (this.scenario.settings.hasOrder) for (const mark of marks) this.#forMark(mark, this.limits('waitFor'))
  }

  #forMark(mark: Version, limits: Wait): void {
    const { history, violate } = this.scenario
    const { informer, source } = this.driver
    const hasForked = forkedSince(history, mark)
    const version = this.driver.reached
    const needsHead = version !== undefined && this.#isOfOtherEpoch(version, mark)
    const { heads } = source
    this.pending.wait(informer.waitFor(mark, limits), {
      what: 'waitFor',
      notifiesSource: 'surely',
      mark,
      limits,
      // While the objects are being deleted because access was lost, readers still see them.
      isDue: () => !this.driver.access.isCleared && this.#isShown(mark),
      // The epoch of the source decides, as its head shows it after the call. A source that has failed is not read.
      isForgotten: () =>
        needsHead &&
        !this.driver.access.isCleared &&
        informer.status.state !== 'failed' &&
        source.heads === heads &&
        source.requests.size === 0 &&
        informer.version === version,
      mayFail: (code) => this.isStopped(code) || (code === 'EPOCH_CHANGED' && hasForked()),
      ended: () => {
        const { reached } = this.driver
        if (!includes(this.scenario.history, reached, mark)) violate('waits', `waitFor ${mark} ended at ${reached}`)
      },
    })
  }

  /** Whether the source cannot compare a mark with the version of the store, whose history is not over. */
  #isOfOtherEpoch(version: Version, mark: Version): boolean {
    const { history, settings } = this.scenario
    const [at, wanted] = [history.at(version).epoch, history.at(mark).epoch]
    return version !== this.#forkedAt && (settings.comparesEpochs ? at > wanted : at !== wanted)
  }

  /** Waits for the initial objects of a subscription or a controller, or for the current version of the source. */
  override ofFollower(): void {
    const { decisions, settings, violate } = this.scenario
    const { followers, reconcilers } = this.driver
    const follower = decisions.pick('who is waited for', [...followers, ...reconcilers])
    const subscription = follower instanceof Reconciler ? follower.controller : follower?.subscription
    if (follower === undefined || subscription === undefined || follower.isClosed || follower.isEnding) return
    const limits = this.limits('wait of a follower')
    if (settings.hasOrder && decisions.chance('waits for head', 0.6)) {
      this.#ofHead(follower, subscription, limits)
      return
    }
    this.pending.wait(subscription.synced(limits), {
      what: `synced of ${follower.name}`,
      notifiesSource: 'perhaps',
      limits,
      mayNeverEnd: () => follower.neverSettles === true,
      hasConsumerEnded: () => follower.isClosed,
      isDue: () => subscription.version !== undefined,
      mayFail: (code) => this.isStopped(code, follower),
      ended: () => {
        // A cleared store has no version.
        if (subscription.version === undefined && !follower.isClosed && this.driver.access.times === 0)
          violate('I8', `synced of ${follower.name} before it has handled what there was`)
      },
    })
  }

  #ofHead(follower: Ending, subscription: Subscription, limits: Wait): void {
    const { history, violate } = this.scenario
    const mark = history.head.version
    const hasForked = forkedSince(history, mark)
    this.pending.wait(subscription.waitFor(mark, limits), {
      what: `waitFor of ${follower.name}`,
      notifiesSource: 'perhaps',
      mark,
      limits,
      mayNeverEnd: () => follower.neverSettles === true,
      hasConsumerEnded: () => follower.isClosed,
      // A version from before access was lost, or of content that a list replaced, counts for nothing.
      isDue: () =>
        this.driver.access.times === 0 &&
        !this.driver.hasReplacedContent &&
        !this.driver.access.isCleared &&
        this.#isShown(mark) &&
        isReached(this.scenario.history, subscription.version, mark),
      mayFail: (code) => this.isStopped(code, follower) || (code === 'EPOCH_CHANGED' && hasForked()),
      ended: () => {
        const { version } = subscription
        if (!includes(this.scenario.history, version, mark) && !follower.isClosed)
          violate('waits', `waitFor ${mark} of ${follower.name} ended at ${version}`)
      },
    })
  }

  /** The history of the store is over: waits for later marks of it end now. */
  forked(): void {
    const { history } = this.scenario
    const version = this.driver.reached
    // Waits after this call know it already.
    if (version === undefined || version === this.#forkedAt) return
    this.#forkedAt = version
    const { epoch } = history.at(version)
    this.pending.mustEnd(({ mark }) => mark !== undefined && history.at(mark).epoch === epoch)
  }

  fresh(): void {
    const { history, settings, violate } = this.scenario
    const { informer, source } = this.driver
    if (!settings.hasOrder) return
    const before = history.head.version
    const limits = this.limits('fresh')
    const hasForked = forkedSince(history, before)
    const { headFailures } = source
    this.pending.wait(informer.fresh(limits), {
      what: 'fresh',
      notifiesSource: 'perhaps',
      limits,
      mayFail: (code) =>
        this.isStopped(code) ||
        (code === 'EPOCH_CHANGED' && hasForked()) ||
        (source.headFailures > headFailures && TRANSIENT.includes(code)),
      ended: () => {
        const { reached } = this.driver
        if (!includes(this.scenario.history, reached, before))
          violate('waits', `fresh ended at ${reached}, before ${before}`)
      },
    })
  }

  synced(): void {
    const { informer, source } = this.driver
    const limits = this.limits('synced')
    this.pending.wait(informer.synced(limits), {
      what: 'synced',
      limits,
      isDue: () => this.driver.reached !== undefined,
      // A fatal refusal rejects the waits for the first list.
      mayFail: (code) => this.isStopped(code) || code === source.refusedWith,
      ended: () => {
        if (!informer.status.isSynced) this.scenario.violate('I8', 'synced before the first list was in')
      },
    })
  }

  relist(): void {
    const { violate } = this.scenario
    const { informer, reflectorChecker, source } = this.driver
    const { lists } = source
    const limits = this.limits('relist')
    if (limits.signal?.aborted !== true) reflectorChecker.relistRequested(informer.status.state)
    this.pending.wait(informer.relist(limits), {
      what: 'relist',
      limits,
      mayFail: (code) => this.isStopped(code),
      ended: () => {
        if (source.lists === lists) violate('waits', 'relist ended with no list that began after the call')
      },
    })
  }

  /** Whether the store includes a mark. Once its history is over, it includes none until the next list. */
  #isShown(mark: string): boolean {
    const { reached } = this.driver
    return reached !== this.#forkedAt && isReached(this.scenario.history, reached, mark)
  }
}

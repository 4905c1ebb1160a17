import { type Controller, type ReconcileContext, terminal } from '../../../src/index.js'
import type { Item, Stored } from '../backend/history.js'
import { ControllerDrainChecker, type Left } from '../checkers/controller-drain-checker.js'
import type { Handled, HandledVersionChecker } from '../checkers/handled-version-checker.js'
import { drawLimit, HandlerCallChecker } from '../checkers/handler-call-checker.js'
import { LastStateChecker } from '../checkers/last-state-checker.js'
import { RequeueChecker } from '../checkers/requeue-checker.js'
import { drawResync } from '../checkers/resync-checker.js'
import { RetryChecker } from '../checkers/retry-checker.js'
import type { InformerSystem } from '../system/informer-system.js'
import { nameOf, type Scenario } from '../system/scenario.js'
import type { Follower } from './follower.js'

/** Delays of `requeueAfter`, in milliseconds. */
const REQUEUE_AFTER_MS = [5, 100, 1_000, 5_000] as const
const ENQUEUE_DELAYS_MS = [0, 20, 200, 1_000, 4_000] as const

/** The longest times of a pause, in milliseconds. */
const PAUSE_MS = [20, 500, 5_000] as const

/** The time after the drain began until something else closes it as well, in milliseconds. */
const MEANWHILE_MS = [0, 20, 400, 2_000] as const

type Driver = InformerSystem<Scenario, Follower>

/** A controller that copies the objects, fails sometimes, and ends with the objects of the source. */
export class Reconciler implements Handled {
  readonly name: string
  readonly #scenario: Scenario
  readonly #driver: Driver
  readonly #done = new Map<string, number | undefined>()
  /** The content of each key in its last run that succeeded, or that was the last attempt. */
  readonly #handledAt = new Map<string, number | undefined>()
  readonly #version: HandledVersionChecker | undefined
  handledCount = 0
  readonly #running = new Set<string>()
  readonly #failed = new Set<string>()
  /** The keys whose last run failed and is not retried, each with the content that it had. */
  readonly #givenUp = new Map<string, number | undefined>()
  readonly #retries: RetryChecker
  readonly #requeues: RequeueChecker
  readonly #lastStates: LastStateChecker
  readonly #concurrency: number
  readonly controller: Controller
  readonly runs: HandlerCallChecker
  /** The signals of its runs; with a time limit, `runs` checks them instead. */
  readonly #signals = new Set<AbortSignal>()
  readonly #resyncMs: number | undefined
  readonly #requeuesLater: boolean
  /** Whether it was paused when a stop began. A drain does not wait for its keys then. */
  #wasPausedByStop = false
  readonly #pauses: boolean
  readonly #enqueuesInRuns: boolean
  #draining: ControllerDrainChecker | undefined
  #drainsInRunOf: string | undefined
  isSilenced = false
  isClosed = false
  #closedAt: number | undefined

  constructor(driver: Driver, name: string) {
    const { scenario } = driver
    this.#scenario = scenario
    this.#driver = driver
    this.name = name
    const { unmerged } = driver
    const changedAt = unmerged && ((key: string) => unmerged.receivedAt(key))
    this.#retries = new RetryChecker(scenario, name, changedAt)
    this.#lastStates = new LastStateChecker(scenario, name, unmerged)
    this.#concurrency = 1 + scenario.decisions.below('controller', 3)
    this.#resyncMs = drawResync(scenario, `${driver.life}.${name}`, 0.3)
    const resyncs = this.#resyncMs !== undefined
    this.#requeues = new RequeueChecker(scenario, { name, changedAt, resyncs, fullAt: () => this.#retries.fullAt })
    this.#requeuesLater =
      scenario.decisions.chance('looks again', 0.4) && scenario.decisions.take(`looks again#${driver.life}.${name}`)
    this.#enqueuesInRuns =
      scenario.decisions.chance('asks in runs', 0.3) && scenario.decisions.take(`asks in runs#${driver.life}.${name}`)
    this.#pauses = scenario.decisions.chance('pauses', 0.3) && scenario.decisions.take(`pauses#${driver.life}.${name}`)
    const limitMs = drawLimit(scenario, `${driver.life}.${name}`)
    this.#version = driver.versionCheckerOf(name)
    this.runs = new HandlerCallChecker(scenario, {
      name,
      limitMs,
      mayEnd: () => this.isClosed || driver.isStopping,
      isSilenced: () => this.isSilenced,
    })
    this.controller = driver.informer.reconcile(
      (key, context) => {
        if (this.runs.limitMs === undefined) this.#signals.add(context.signal)
        return this.#reconcile(key, context)
      },
      driver.callers.sign(
        name,
        {
          name,
          concurrency: this.#concurrency,
          ...(this.#resyncMs !== undefined && { resyncMs: this.#resyncMs }),
          ...(limitMs !== undefined && { timeoutMs: limitMs }),
        },
        () => this.#closes(),
      ),
    )
  }

  get isQuiet(): boolean {
    if (this.isClosed) return true
    if (this.#draining !== undefined || this.controller.isPaused) return false
    const { version } = this.#driver.truth
    return this.controller.version === version && this.controller.backlog.keys === 0 && !this.#requeues.isWaiting
  }

  get isEnding(): boolean {
    return this.#draining !== undefined
  }

  /** Its runs settle at some time. */
  readonly neverSettles = false

  enqueue(key: string): void {
    const delayMs = this.#scenario.decisions.below('enqueue', 2_000)
    this.enqueueIn(key, delayMs < 200 ? 0 : delayMs)
  }

  enqueueIn(key: string, delayMs: number): void {
    this.#scenario.note('asks', this.name, nameOf(key), delayMs)
    // A controller that is being drained ignores `enqueue`.
    if (this.#draining === undefined) {
      this.#retries.enqueued(key, delayMs)
      const { informer, isStopping } = this.#driver
      this.#requeues.enqueued(key, delayMs, informer.status.isSynced, isStopping)
    }
    this.controller.enqueue(key, delayMs === 0 ? {} : { delayMs })
  }

  /** Drains it, at once or inside the next run of a key. Something else may close it before the drain ends. */
  drain(key: string): void {
    if (this.isClosed || this.#scenario.decisions.chance('drains now', 0.4)) {
      this.#drain()
      return
    }
    this.#drainsInRunOf = key
    this.enqueueIn(key, 0)
  }

  close(): void {
    if (this.isClosed) return
    this.#scenario.note('closes', this.name)
    this.#closes()
    this.#call({ drain: false })
  }

  checkStep(): void {
    this.#draining?.checkStep(this.#running.size)
  }

  /** Its version is never ahead of the keys that it has handled, also after it was closed. */
  checkVersion(): void {
    // It may run no key for the loss of access.
    if (!this.#scenario.settings.clears) this.#version?.checkStep(this.controller.version, this)
  }

  handledOf(key: string): number | undefined {
    return this.#handledAt.get(key)
  }

  wants(stored: Stored | undefined): boolean {
    return stored !== undefined && stored.item.tenant !== this.#scenario.settings.omits
  }

  check(): void {
    if (this.isClosed) return
    const { settings, violate } = this.#scenario
    if (this.#running.size === 0) this.#requeues.check()
    for (const key of settings.keys) {
      const stored = this.#driver.truth.state.get(key)
      if (stored?.isInvalid) continue
      const wanted = stored?.item.tenant === settings.omits ? undefined : stored?.item.n
      const done = this.#handled(key)
      if (done !== wanted) violate('I5', `${this.name} left ${nameOf(key)} at n${done}, the source has n${wanted}`)
    }
  }

  checkStopped(): void {
    const { violate } = this.#scenario
    if ([...this.#signals].some((signal) => !signal.aborted))
      violate('I15', `a run of ${this.name} was not aborted by stop()`)
    this.runs.checkStopped()
    if (this.#draining?.isOpen) violate('I15', `${this.name} is still drained after stop()`)
  }

  /** After a stop with a drain, all keys are done except those that wait for a retry. */
  checkDrained(store: ReadonlyMap<string, Item>): void {
    if (this.#draining?.isInterrupted === false) this.#draining.check(this.#done, this.#failed)
    if (this.isClosed || this.#draining !== undefined || this.controller.isPaused || this.#wasPausedByStop) return
    const { settings, violate } = this.#scenario
    for (const key of settings.keys) {
      const [done, wanted] = [this.#done.get(key), store.get(key)?.n]
      if (done !== wanted && !this.#failed.has(key))
        violate('I5', `${this.name} was drained with ${nameOf(key)} at n${done}, the store has n${wanted}`)
    }
  }

  #drain(): void {
    const { clock, decisions, note, settings } = this.#scenario
    note('drains', this.name)
    if (this.controller.isPaused) this.#resume()
    if (!this.isClosed && this.#draining === undefined) {
      const { name, controller } = this
      const { informer } = this.#driver
      this.#draining = new ControllerDrainChecker(this.#scenario, { name, controller, informer, left: this.#left() })
      this.#requeues.sealed()
    }
    this.#call({ drain: true })
    this.enqueueIn(
      decisions.pick('ask in vain', settings.keys),
      decisions.pick('ask in vain for a time', ENQUEUE_DELAYS_MS),
    )
    const how = decisions.pick('meanwhile', ['closes', 'drains', undefined, undefined] as const)
    const afterMs = decisions.pick('meanwhile', MEANWHILE_MS) * decisions.next('meanwhile')
    if (how === undefined || !decisions.take(`meanwhile#${this.#driver.life}.${this.name}`)) return
    clock.in(afterMs, () => {
      note(how, this.name)
      if (how === 'closes') this.#closes()
      this.#call({ drain: how === 'drains' })
    })
  }

  #pause(): void {
    const { clock, decisions, mark, note } = this.#scenario
    if (this.#draining !== undefined || this.controller.isPaused) return
    mark('a controller was paused')
    note('pauses', this.name)
    this.controller.pause()
    clock.in(decisions.pick('paused for', PAUSE_MS) * decisions.next('paused for'), () => {
      if (this.controller.isPaused) this.#resume()
    })
  }

  #resume(): void {
    this.#scenario.note('resumes', this.name)
    this.#wasPausedByStop = this.#driver.isStopping
    this.#retries.full() // Until now no run could start.
    this.controller.resume()
  }

  #call(options: { readonly drain: boolean }): void {
    const draining = this.#draining
    draining?.called()
    this.controller.close(options).then(
      () => {
        draining?.settled()
        this.#ended()
      },
      (error: unknown) => this.#scenario.violate('crash', `close() of ${this.name} failed: ${error}`),
    )
  }

  #left(): Left {
    const { settings } = this.#scenario
    const { informer } = this.#driver
    // A change of a key that was given up waits for the shortest delay of a retry.
    const isLate = (key: string): boolean => this.#retries.mayWait(key) || this.#givenUp.has(key)
    const mayWait = settings.keys.filter((key) => isLate(key) && !this.#running.has(key))
    const changed = new Map<string, number | undefined>()
    // A field that changes by itself is not reported.
    if (informer.status.isSynced && !settings.flips)
      for (const key of settings.keys) {
        const n = informer.get(key)?.n
        if (n !== this.#handled(key) && !mayWait.includes(key)) changed.set(key, n)
      }
    return { changed, enqueued: this.#requeues.overdue, hasLater: mayWait.length > 0 || this.#requeues.isWaiting }
  }

  #ended(): void {
    this.#scenario.note('has ended', this.name)
    const draining = this.#draining
    if (!this.isClosed && !this.#driver.isStopping && draining !== undefined) {
      if (this.#running.size > 0) this.#scenario.violate('I5', `${this.name} was drained while it runs something`)
      draining.check(this.#done, this.#failed)
    }
    this.isClosed = true
    this.isSilenced = true
  }

  /** Something closes it at once: no key is run any more. */
  #closes(): void {
    this.#draining?.interrupted(this.#running.size > 0)
    this.#closedAt ??= this.#scenario.clock.reached
    this.isClosed = true
    this.isSilenced = true
  }

  async #reconcile(key: string, context: ReconcileContext<Item>): Promise<void> {
    const { object, lastObject, attempt } = context
    const { clock, decisions, settings, violate, note, mark } = this.#scenario
    const { mix } = settings
    note(this.name, nameOf(key), object?.n ?? 'gone')
    if (this.isSilenced) violate('I15', `${this.name} was run after it had ended`)
    if (this.controller.isPaused) violate('controllers', `${this.name} runs ${nameOf(key)} while it is paused`)
    if (object !== this.#driver.informer.get(key))
      violate('controllers', `${this.name} did not receive the current object of ${nameOf(key)}`)
    if (this.#running.has(key)) violate('I4', `${this.name} runs ${nameOf(key)} twice at once`)
    if (this.#running.size >= this.#concurrency)
      violate('I12', `${this.name} runs more keys at once than its concurrency`)
    this.#requeues.begins(key, context)
    this.#retries.begins(key, attempt)
    this.#givenUp.delete(key)
    this.#lastStates.begins(key, object, lastObject)
    this.#draining?.begins(key)
    this.#running.add(key)
    if (this.#running.size === this.#concurrency) this.#retries.full()
    const againMs = this.#requeueDelay()
    if (againMs !== undefined) context.requeueAfter(againMs)
    this.#enqueueInRun(key)
    if (this.#pauses && !decisions.isQuiet && decisions.chance('pause in a run', 0.2)) this.#pause()
    const end = this.#driver.work.begins(this, key, clock.elapsed)
    const run = this.runs.begin(key, context.signal, (error) => {
      end()
      this.#driver.mustReport(error)
      this.#hasFailed(key)
      this.#over(key, againMs)
    })
    if (mix.strikes('run-closes-any')) {
      mark('a consumer was closed inside a callback')
      this.#driver.closeAny()
    }
    try {
      if (this.#drainsInRunOf === key && !decisions.isQuiet) await this.#drainInRun(key)
      if (mix.strikes('handler-slow')) await clock.sleep(decisions.below('slow', 400))
      if (lastObject !== undefined && mix.strikes('back-in-run')) {
        this.#driver.goneAt(key)
        await clock.sleep(decisions.below('back in a run', 1_000))
      }
      if (mix.strikes('handler-stuck')) await this.#driver.untilHealed(300 + decisions.below('stuck', 30_000))
      if (mix.strikes('handler-throws') || this.#failsAgain(key)) {
        if (run.isOver) throw new Error('the result of this run is ignored')
        if (this.#enqueuesInRuns && decisions.chance('ask before it fails', 0.5)) this.enqueueIn(key, 0)
        this.#hasFailed(key)
        if (this.isClosed) throw new Error('the result of this run is ignored')
        const error = this.#planted()
        throw this.#givesUp(key, object) ? terminal(error) : error
      }
      // It timed out: it has failed, whatever its result is.
      if (run.isOver) return
      if (this.#failed.delete(key)) mark('a reconcile failed and then succeeded')
      if (this.#resyncMs !== undefined && object !== undefined && this.#done.get(key) === object.n)
        mark('a controller ran a reconciled key again for a resync')
      this.#done.set(key, object?.n)
      this.#handles(key, object)
      this.#retries.succeeded(key)
      this.#lastStates.succeeded(key, lastObject)
    } finally {
      if (this.runs.end(run)) {
        end()
        this.#over(key, againMs)
      }
    }
  }

  /** The error of a run that fails. It is not reported if the controller is closed before the library receives it. */
  #planted(): Error {
    const { reached } = this.#scenario.clock
    return this.#driver.planted(undefined, () => this.#closedAt === reached)
  }

  #handles(key: string, object: Item | undefined): void {
    this.handledCount++
    this.#handledAt.set(key, object?.n)
  }

  #hasFailed(key: string): void {
    this.#failed.add(key)
    this.#retries.failed(key)
  }

  #over(key: string, againMs: number | undefined): void {
    if (this.#running.size === this.#concurrency) this.#retries.full()
    this.#running.delete(key)
    const isGivenUp = this.#givenUp.has(key)
    this.#requeues.ended(key, againMs, this.#failed.has(key), isGivenUp)
    this.#draining?.ended(key, this.#failed.has(key))
  }

  #enqueueInRun(key: string): void {
    const { decisions, settings } = this.#scenario
    if (!this.#enqueuesInRuns || decisions.isQuiet || decisions.chance('ask in a run', 0.7)) return
    const other = decisions.pick('ask for', settings.keys)
    this.enqueueIn(
      decisions.chance('ask for itself', 0.6) ? key : other,
      decisions.pick('ask for a time', ENQUEUE_DELAYS_MS),
    )
  }

  /** A run that drains its own controller, and continues. */
  async #drainInRun(key: string): Promise<void> {
    const { clock, decisions } = this.#scenario
    this.#drainsInRunOf = undefined
    await clock.sleep(decisions.pick('finds out after', [0, 100, 400]))
    if (!this.#driver.isStopping) this.#drain()
    this.#driver.stuckAt(key)
    await clock.sleep(decisions.pick('ends after', [0, 100, 1_000, 6_000]))
  }

  /** A failed key may fail again. */
  #failsAgain(key: string): boolean {
    const { decisions } = this.#scenario
    return this.#enqueuesInRuns && this.#failed.has(key) && !decisions.isQuiet && decisions.chance('fails again', 0.6)
  }

  /** The content of a key in the last run that succeeded, or that is not retried. */
  #handled(key: string): number | undefined {
    return this.#givenUp.has(key) ? this.#givenUp.get(key) : this.#done.get(key)
  }

  /** Whether the failed run is not to be retried. */
  #givesUp(key: string, object: Item | undefined): boolean {
    const { decisions, mark } = this.#scenario
    if (decisions.isQuiet || !decisions.chance('gives up', 0.3)) return false
    mark('a controller gave up a key')
    this.#givenUp.set(key, object?.n)
    this.#handles(key, object)
    this.#retries.succeeded(key)
    return true
  }

  /** The delay of `requeueAfter`; undefined: not called. */
  #requeueDelay(): number | undefined {
    const { decisions } = this.#scenario
    if (!this.#requeuesLater || decisions.isQuiet) return undefined
    const againMs = decisions.pick('look again after', REQUEUE_AFTER_MS)
    return decisions.chance('look again', 0.5) ? againMs : undefined
  }
}

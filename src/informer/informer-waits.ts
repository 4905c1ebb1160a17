import { ABORTED, OptionError, type SourceError, toSourceError } from '../contract/errors.js'
import type { Version } from '../contract/version.js'
import { checkVersionWait, type VersionWait } from '../subscriptions/version-waiters.js'
import { checkWait, type Settle, type Wait, withDeadline } from '../util/deadline.js'
import { assertSynchronous } from '../util/type-guards.js'
import type { InformerContext } from './informer-context.js'
import type { Observation } from './observation/observation.js'
import { requestHead } from './sources/head-request.js'
import type { InformerSources } from './sources/informer-sources.js'
import type { SourceRunner } from './sources/source-runner.js'
import type { ViewInputs } from './sources/view-inputs.js'

/** A wait for an informer that was not started is reported after this time, in milliseconds. */
const NOT_STARTED_MS = 10_000

export class InformerWaits<S, T> {
  readonly #context: InformerContext<T>
  readonly #sources: InformerSources<S, T>
  readonly #observation: Observation<S, T>
  /** The checks of pending waits for a state of the store or of the sources; each settles its wait if it can. */
  readonly #checks = new Set<() => void>()
  #isStartReminded = false

  constructor(context: InformerContext<T>, sources: InformerSources<S, T>, observation: Observation<S, T>) {
    this.#context = context
    this.#sources = sources
    this.#observation = observation
  }

  synced(wait: Wait): Promise<void> {
    checkWait('synced', wait)
    return this.#wait(`synced of ${this.#sources.title}`, wait, (settle) => this.#sources.enterSynced(settle))
  }

  waitFor(version: Version, wait: VersionWait): Promise<void> {
    checkVersionWait(version, wait)
    this.#sources.hasReached('waitFor', wait.source)
    const { source, ...rest } = wait
    return this.#forRunner(this.#sources.find('waitFor', source), version, rest)
  }

  #forRunner(runner: SourceRunner<unknown, unknown>, version: Version, wait: Wait): Promise<void> {
    return this.#wait(`waitFor on ${runner.title}`, wait, (settle) => this.enter(runner, version, settle))
  }

  /** Settles the wait also before this returns. Returns a function that ends it. */
  enter(runner: SourceRunner<unknown, unknown>, version: Version, settle: Settle<void>): () => void {
    if (this.#isStopped) {
      settle.reject(this.#sources.stoppedError('waitFor'))
      return () => {}
    }
    const { view } = this.#sources
    return view === undefined ? runner.enter(version, settle) : this.#enterView(view, runner, version, settle)
  }

  /** An input has to include the version, or all inputs of one history. Then the view has to show what they show. */
  #enterView(view: ViewInputs, runner: SourceRunner<unknown, unknown>, version: Version, settle: Settle<void>) {
    const runners = view.isOfSet ? [runner] : [...view.roots.values()]
    const missing = new Set(runners)
    const check = (): void => {
      const { router, indexer } = this.#context
      // The waits of inputs settle before the same commit of the view is reported to its subscriptions.
      const isReported = router.current.commit === indexer.writer.commits
      if (missing.size === 0 && isReported && view.isCurrent) settle.resolve()
    }
    const leaveChecks = this.#checkOften(settle, 'the wait', check)
    const leaveInputs = runners.map((each) => {
      const resolve = (): void => {
        missing.delete(each)
        check()
      }
      return each.enter(version, { resolve, reject: settle.reject })
    })
    return () => {
      leaveChecks()
      for (const leave of leaveInputs) leave()
    }
  }

  fresh(wait: Wait): Promise<void> {
    const runners = Array.from(this.#sources.roots, ([name, runner]) => {
      this.#sources.hasReached('fresh', name)
      if (runner.source.head !== undefined) return runner
      throw new TypeError(`fresh: the source "${runner.source.name}" cannot report its version (it has no head)`)
    })
    checkWait('fresh', wait)
    const requests = new AbortController()
    let failure: SourceError | undefined
    const onFailure = (error: SourceError): void => {
      failure = error
    }
    return this.#wait(
      `fresh of ${this.#sources.title}`,
      wait,
      (settle: Settle<void>) => {
        // A source that was removed may never respond.
        const leave = this.#checkOften(settle, 'fresh', () => {
          const removed = runners.find(({ refusal }) => refusal !== undefined)
          if (removed !== undefined) settle.reject(removed.refusal)
        })
        const freshen = (runner: SourceRunner<unknown, unknown>) => this.#freshen(runner, requests.signal, onFailure)
        if (!this.#isStopped) Promise.all(runners.map(freshen)).then(() => settle.resolve(), settle.reject)
        return () => {
          leave()
          requests.abort(ABORTED)
        }
      },
      () => (failure === undefined ? '' : `; head failed: ${failure.message}`),
    )
  }

  async #freshen(
    runner: SourceRunner<unknown, unknown>,
    signal: AbortSignal,
    onFailure: (error: SourceError) => void,
  ): Promise<void> {
    const { source, reflector } = runner
    const { clock, random, events } = this.#context
    const warn = (message: string): void => events.warning(`${runner.title}: ${message}`)
    try {
      const { mirror } = reflector
      const context = { signal, clock, random, warn, mirror, shown: () => runner.reached }
      const version = await requestHead(source, context, onFailure)
      if (version !== undefined && !signal.aborted) await this.#forRunner(runner, version, { signal })
    } catch (error) {
      throw error instanceof OptionError ? error : toSourceError(error, { phase: 'watch', source: source.name })
    }
  }

  relist(wait: Wait): Promise<void> {
    checkWait('relist', wait)
    const { runners, title } = this.#sources
    return this.#wait(`relist of ${title}`, wait, (settle) => {
      // A list that began before this call does not count.
      const before = Array.from(runners, ([name, runner]) => ({ name, runner, lists: runner.reflector.lists }))
      const leave = this.#checkOften(settle, 'the wait', () => {
        const areListed = before.every(
          ({ name, runner, lists }) => runner.history.lists > lists || runners.get(name) !== runner,
        )
        if (areListed) settle.resolve()
      })
      for (const { runner } of before) runner.reflector.relist('requested by relist()')
      return leave
    })
  }

  until(key: string, condition: (object: T | undefined) => boolean, wait: Wait): Promise<T | undefined> {
    if (typeof key !== 'string') throw new TypeError(`until: the key must be a string, got ${typeof key}`)
    if (typeof condition !== 'function') throw new TypeError('until: the condition must be a function')
    checkWait('until', wait)
    return withDeadline<T | undefined>(
      `until "${key}" of ${this.#sources.title}`,
      wait,
      this.#context.clock,
      (settle) =>
        this.#checkOften(settle, 'the wait', () => {
          if (!this.#context.synced.isOpen) return
          const object = this.#context.indexer.get(key)
          try {
            const isMet: unknown = condition(object)
            assertSynchronous(isMet, 'condition of until')
            if (isMet) settle.resolve(object)
          } catch (error) {
            settle.reject(error)
          }
        }),
    )
  }

  /** Checks all pending waits again: after a commit, after a source was removed, and when the informer is stopped. */
  recheck(): void {
    if (this.#checks.size > 0) for (const check of [...this.#checks]) check()
  }

  /** Calls `check` now and at each `recheck`. */
  #checkOften<V>(settle: Settle<V>, call: string, check: () => void): () => void {
    const checkOnce = (): void => {
      if (this.#isStopped) settle.reject(this.#sources.stoppedError(call))
      else check()
    }
    this.#checks.add(checkOnce)
    checkOnce()
    return () => this.#checks.delete(checkOnce)
  }

  get #isStopped(): boolean {
    return this.#context.stopped.aborted
  }

  /** The message of a timeout has the status, and what `details` returns. */
  #wait(
    what: string,
    wait: Wait,
    register: (settle: Settle<void>) => () => void,
    details: () => string = () => '',
  ): Promise<void> {
    const registerWithReminder = (settle: Settle<void>): (() => void) => {
      const leave = register(settle)
      const forget = this.#remindOfStart(what)
      return () => {
        forget()
        leave()
      }
    }
    const whyNot = (): string => `${this.#observation.text}${details()}`
    return withDeadline(what, wait, this.#context.clock, registerWithReminder, whyNot)
  }

  /** Without a timeout, a wait for an informer that is never started has no other message. */
  #remindOfStart(what: string): () => void {
    const sources = this.#sources
    if (sources.unstarted.length === 0 || this.#isStopped) return () => {}
    const waiting = new AbortController()
    const remind = (): void => {
      const names = sources.unstarted.join(', ')
      if (names === '' || this.#isStartReminded) return
      this.#isStartReminded = true
      const missing = sources.isStarted ? `its inputs were not started: ${names}` : 'the informer was not started'
      const all = sources.view === undefined ? '' : ', or start the view and its inputs as a group'
      this.#context.events.warning(`${what} waits, but ${missing}: call start()${all}`)
    }
    this.#context.clock.sleep(NOT_STARTED_MS, waiting.signal).then(remind, () => {})
    return () => waiting.abort(ABORTED)
  }
}

import type { Controller } from '../../src/controller.js'
import type { Informer } from '../../src/informer.js'
import type { Version } from '../../src/version.js'
import type { Callers } from './callers.js'
import type { Item, State } from './history.js'
import type { IndexesOf } from './indexes.js'
import { drawResync } from './resyncs.js'
import { Retries } from './retries.js'
import { nameOf, type Scene } from './stage.js'

/** Where it reconciles. */
export interface ReconcilerHost {
  readonly stage: Scene
  readonly life: number
  readonly callers: Callers
  readonly informer: Informer<Item, IndexesOf>
  /** What there is now; over several sources it has no version. */
  readonly truth: { readonly state: State; readonly version: Version | undefined }
  /** Told of every change of a key; not everywhere is there one. */
  readonly witness?: { toldAt(key: string): number } | undefined
  untilHealed(ms: number): Promise<void>
  planted(): Error
}

/** A controller that copies what it reconciles, fails now and then, and ends with what the source has. */
export class Reconciler {
  readonly name: string
  readonly #stage: Scene
  readonly #drive: ReconcilerHost
  readonly #done = new Map<string, number | undefined>()
  readonly #running = new Set<string>()
  readonly #failed = new Set<string>()
  readonly #retries: Retries
  readonly #concurrency: number
  readonly controller: Controller
  /** What its runs were given, to be told of the end. */
  readonly #signals = new Set<AbortSignal>()
  readonly #resyncMs: number | undefined
  isSilenced = false
  /** Whether its caller has given up. */
  isClosed = false

  constructor(drive: ReconcilerHost, name: string) {
    const { stage } = drive
    this.#stage = stage
    this.#drive = drive
    this.name = name
    const { witness } = drive
    this.#retries = new Retries(stage, name, witness && ((key) => witness.toldAt(key)))
    this.#concurrency = 1 + stage.draws.below('controller', 3)
    this.#resyncMs = drawResync(stage, `${drive.life}.${name}`, 0.3)
    this.controller = drive.informer.reconcile(
      (key, { object, attempt, signal }) => {
        this.#signals.add(signal)
        return this.#reconcile(key, object, attempt)
      },
      drive.callers.sign(
        name,
        {
          name,
          concurrency: this.#concurrency,
          ...(this.#resyncMs !== undefined && { resyncMs: this.#resyncMs }),
        },
        () => this.#close(),
      ),
    )
  }

  get isQuiet(): boolean {
    if (this.isClosed) return true
    const { version } = this.#drive.truth
    return this.controller.version === version && this.controller.backlog.keys === 0
  }

  /** Asks for a key for a reason that comes from elsewhere. */
  enqueue(key: string): void {
    const delayMs = this.#stage.draws.below('enqueue', 2_000)
    this.#retries.enqueued(key, delayMs < 200 ? 0 : delayMs)
    this.controller.enqueue(key, delayMs < 200 ? {} : { delayMs })
  }

  check(): void {
    if (this.isClosed) return
    const { settings, violate } = this.#stage
    const { state } = this.#drive.truth
    for (const key of settings.keys) {
      const stored = state.get(key)
      if (stored?.isInvalid) continue
      const wanted = stored?.item.tenant === settings.omits ? undefined : stored?.item.n
      const done = this.#done.get(key)
      if (done !== wanted) violate('I5', `${this.name} left ${nameOf(key)} at n${done}, the source has n${wanted}`)
    }
  }

  /** After a stop every run has been told to end. */
  checkStopped(): void {
    if ([...this.#signals].some((signal) => !signal.aborted))
      this.#stage.violate('I15', `a run of ${this.name} was not told to end by stop()`)
  }

  /** After a stop that let it run what waited: all but what waits for its next try. */
  checkDrained(store: ReadonlyMap<string, Item>): void {
    if (this.isClosed) return
    const { settings, violate } = this.#stage
    for (const key of settings.keys) {
      const [done, wanted] = [this.#done.get(key), store.get(key)?.n]
      if (done !== wanted && !this.#failed.has(key))
        violate('I5', `${this.name} was drained with ${nameOf(key)} at n${done}, the store has n${wanted}`)
    }
  }

  /** From now on nothing is run. */
  #close(): void {
    this.isClosed = true
    this.isSilenced = true
  }

  async #reconcile(key: string, object: Item | undefined, attempt: number): Promise<void> {
    const { clock, draws, settings, violate, note, mark } = this.#stage
    const { mix } = settings
    note(this.name, nameOf(key), object?.n ?? 'gone')
    if (this.isSilenced) violate('I15', `${this.name} was run after stop() had settled`)
    if (this.#running.has(key)) violate('I4', `${this.name} runs ${nameOf(key)} twice at once`)
    if (this.#running.size >= this.#concurrency) violate('I12', `${this.name} runs more keys at once than it said`)
    this.#retries.begins(key, attempt)
    this.#running.add(key)
    if (this.#running.size === this.#concurrency) this.#retries.full()
    try {
      if (mix.strikes('handler-slow')) await clock.sleep(draws.below('slow', 400))
      if (mix.strikes('handler-stuck')) await this.#drive.untilHealed(300 + draws.below('stuck', 30_000))
      if (mix.strikes('handler-throws')) {
        this.#failed.add(key)
        this.#retries.failed(key)
        throw this.isClosed ? new Error('nobody need hear of it') : this.#drive.planted()
      }
      if (this.#failed.delete(key)) mark('a reconcile failed and then succeeded')
      if (this.#resyncMs !== undefined && object !== undefined && this.#done.get(key) === object.n)
        mark('a controller looked again at what it had done')
      this.#done.set(key, object?.n)
      this.#retries.succeeded(key)
    } finally {
      if (this.#running.size === this.#concurrency) this.#retries.full()
      this.#running.delete(key)
    }
  }
}

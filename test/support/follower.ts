import type { Clock } from '../../src/contract/clock.js'
import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { Logger, MirrorState } from '../../src/contract/status.js'
import { createInformer } from '../../src/informer/create-informer.js'
import type { Informer, InformerOptions } from '../../src/informer/informer-types.js'
import { waitUntil } from '../servers/wait-until.js'
import type { CheckedSource } from './checked-source.js'
import { HandlerHistory } from './handler-history.js'

export interface FollowerOptions<T, C extends Clock = Clock> {
  readonly clock: C
  /** The informer reads the source through it. Default: directly. */
  readonly checker?: CheckedSource<T>
  /** Default false, so that no audit repairs a wrong state. */
  readonly audit?: NonNullable<InformerOptions<T, object>['audit']>
  readonly logger?: Logger
}

/** An informer of a source, the changes that its subscription received, and a comparison with the backend. */
export abstract class Follower<T, S extends ListerWatcher<T> = ListerWatcher<T>, C extends Clock = Clock>
  implements AsyncDisposable
{
  readonly source: S
  readonly clock: C
  readonly informer: Informer<T>
  readonly delivered = new HandlerHistory<T>()
  readonly errors: SourceError[] = []
  readonly states: MirrorState[] = []
  readonly #checker: CheckedSource<T> | undefined

  constructor(source: S, { checker, ...options }: FollowerOptions<T, C>) {
    this.source = source
    this.clock = options.clock
    this.#checker = checker
    this.informer = createInformer({ audit: false, ...options, source: checker ?? source })
    this.informer.on('error', (error) => this.errors.push(error))
    this.informer.on('status', ({ state }) => this.states.push(state))
    this.informer.subscribe(this.delivered.handlers)
  }

  /** The objects of the backend, by key, in the form of `textOf`. */
  abstract truth(): Promise<ReadonlyMap<string, string>>

  /** The part of an object that is compared. */
  protected textOf(object: T): string {
    return JSON.stringify(object)
  }

  get relists(): number {
    return this.informer.status.relists
  }

  get reconnects(): number {
    return this.informer.status.reconnects
  }

  get codes(): readonly string[] {
    return this.errors.map(({ code }) => code)
  }

  /** The state, the version and the last errors, for messages. */
  get story(): string {
    const { state, reason } = this.informer.status
    const errors = this.errors.slice(-5).map(({ code, message }) => `${code} ${message}`)
    const states = this.states.slice(-10).join(' ')
    return `it is ${state} (${reason}) at ${this.informer.version}; ${states}; ${errors.join('; ')}`
  }

  /** Resolves when the first list is in, and the watch is open. */
  async live(ms?: number): Promise<void> {
    this.informer.start()
    await this.until('the watch to be live', () => this.informer.status.state === 'live', ms)
  }

  async until(what: string, isSo: () => boolean | Promise<boolean>, ms = 90_000): Promise<void> {
    await waitUntil(what, isSo, ms).catch((error: unknown) => {
      throw new Error(this.story, { cause: error })
    })
  }

  /**
   * Resolves when the informer equals the backend, and the subscription equals the informer. Rejects if that takes
   * longer, or if a change or an answer of the source broke a promise.
   */
  async healed(ms = 60_000): Promise<void> {
    let wrong: readonly string[] = []
    const isEqual = async (): Promise<boolean> => {
      wrong = await this.differences().catch((error: unknown) => [String(error)])
      return wrong.length === 0
    }
    await this.until('the mirror to equal the backend', isEqual, ms).catch(async (error: unknown) => {
      const detail = `${wrong.slice(0, 5).join(' ')}${await this.#bothTexts(wrong[0])}`
      throw new Error(`${wrong.length} keys differ: ${detail}; ${this.story}`, { cause: error })
    })
    await this.until('the subscription to equal the mirror', () => this.#isDelivered(), 60_000)
    const flaws = [...this.delivered.violations, ...(this.#checker?.flaws ?? [])]
    if (flaws.length > 0) throw new Error(`${flaws.slice(0, 10).join('; ')}; ${this.story}`)
  }

  /** The same; the informer has listed this often since its first list. */
  async healedAfter(relists: number): Promise<void> {
    await this.healed()
    if (this.relists !== relists) throw new Error(`${this.relists} relists instead of ${relists}; ${this.story}`)
  }

  /** The keys with different objects in the backend and the informer. */
  async differences(): Promise<string[]> {
    const wanted = new Map(await this.truth())
    const wrong: string[] = []
    for (const [key, object] of this.informer.entries()) {
      if (wanted.get(key) !== this.textOf(object)) wrong.push(key)
      wanted.delete(key)
    }
    return [...wrong, ...wanted.keys()]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.informer.stop()
  }

  /** One object as the backend and the mirror have it. */
  async #bothTexts(key = ''): Promise<string> {
    const truth = await this.truth().catch(() => undefined)
    const object = this.informer.get(key)
    return ` (${truth?.get(key)} in the backend, ${object && this.textOf(object)} in the mirror)`
  }

  #isDelivered(): boolean {
    const { objects } = this.delivered
    if (objects.size !== this.informer.size) return false
    return [...this.informer.entries()].every(([key, object]) => Object.is(objects.get(key), object))
  }
}

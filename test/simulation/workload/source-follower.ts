import type { Change } from '../../../src/queue/change.js'
import type { Item, Stored } from '../backend/history.js'
import { type Handled, HandledVersionChecker } from '../checkers/handled-version-checker.js'
import { flawAtRest } from '../checkers/store-checker.js'
import type { SourceScenario } from '../system/scenario.js'
import { Follower, type IsIn, type Writer } from './follower.js'

/** A follower of one source. Its version is never ahead of what it has handled (I7). */
export class SourceFollower extends Follower<SourceScenario> implements Handled {
  override readonly running = new Map<string, number>()
  handledCount = 0
  readonly #version: HandledVersionChecker
  readonly #handled = new Map<string, number>()
  readonly #writer: Writer

  constructor(scenario: SourceScenario, name: string, isIn: IsIn) {
    super(scenario, name, isIn)
    this.#version = new HandledVersionChecker(scenario, name)
    this.#writer = {
      name: '',
      settings: scenario.settings,
      removals: 0,
      isWrittenOnce: (n) => scenario.history.isWrittenOnce(n),
      uidOf: (n) => scenario.history.uidOf(n),
    }
  }

  override receive(change: Change<Item>): void {
    super.receive(change)
    if (change.origin === 'access-lost') this.#version.accessLost()
  }

  wants(stored: Stored | undefined): boolean {
    if (stored === undefined || stored.item.tenant === this.scenario.settings.omits) return false
    return this.isIn(stored.item, stored.key)
  }

  get isQuiet(): boolean {
    const { subscription } = this
    if (this.isClosed || this.neverSettles || subscription === undefined) return true
    const { history, settings } = this.scenario
    // Incorrect bookmarks lead to incorrect versions.
    if (settings.isBreach && this.flaw !== undefined) return false
    return subscription.version === history.head.version && subscription.backlog.keys === 0
  }

  override settled(key: string): void {
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

  protected override get difference(): string | undefined {
    return flawAtRest([this.scenario], (key) => this.known.get(key), `${this.name} ends with`, this.isIn)
  }

  protected override writerOf(): Writer {
    return this.#writer
  }

  protected override incarnationOf(): number {
    return 0
  }
}

import type { Slices } from '../../src/util/steps.js'
import { VirtualClock } from '../../testing/virtual-clock.js'

/** Writes of more than `largeWrite` changes run in slices of one step. */
export function sliceEachStep(largeWrite: number): Slices {
  return { largeWrite, stepsPerCheck: 1, sliceMs: 0, changesPerStep: 1 }
}

/** A clock that can pause a write after each slice. */
export class SliceClock extends VirtualClock {
  readonly #paused: (() => void)[] = []
  #isHeld = false

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#isHeld || ms > 0 || signal !== undefined) return super.sleep(ms, signal)
    return new Promise((resume) => this.#paused.push(resume))
  }

  get isPaused(): boolean {
    return this.#paused.length > 0
  }

  hold(): void {
    this.#isHeld = true
  }

  async slice(): Promise<void> {
    this.#paused.shift()?.()
    await this.advance(0)
  }

  /** Runs the slices until `until` returns true; without it, all of them. Returns their number. */
  async slices(until: () => boolean = () => false): Promise<number> {
    let count = 0
    for (; this.isPaused && !until(); count++) await this.slice()
    return count
  }

  async release(): Promise<void> {
    this.#isHeld = false
    await this.slices()
  }
}

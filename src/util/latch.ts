import type { Settle } from './deadline.js'

/** Everybody who waits for something that happens once; afterwards it has happened for all who come. */
export class Latch {
  readonly #waiting = new Set<Settle<void>>()
  #isOpen = false

  get isOpen(): boolean {
    return this.#isOpen
  }

  open(): void {
    this.#isOpen = true
    for (const settle of [...this.#waiting]) settle.resolve()
  }

  /** Turns away who waits now; the gate stays as it is. */
  rejectAll(reason: unknown): void {
    for (const settle of [...this.#waiting]) settle.reject(reason)
  }

  enter(settle: Settle<void>): () => void {
    if (this.#isOpen) settle.resolve()
    else this.#waiting.add(settle)
    return () => this.#waiting.delete(settle)
  }
}

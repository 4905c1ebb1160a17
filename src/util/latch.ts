import type { Settle } from './deadline.js'

/** Waits for an event that happens once. Later waits resolve at once. */
export class Latch {
  /** Created by the first wait: most latches have none. */
  #waiting: Set<Settle<void>> | undefined
  isOpen = false

  open(): void {
    this.isOpen = true
    for (const settle of [...(this.#waiting ?? [])]) settle.resolve()
  }

  rejectAll(reason: unknown): void {
    for (const settle of [...(this.#waiting ?? [])]) settle.reject(reason)
  }

  enter(settle: Settle<void>): () => void {
    this.#waiting ??= new Set()
    if (this.isOpen) settle.resolve()
    else this.#waiting.add(settle)
    return () => this.#waiting?.delete(settle)
  }
}

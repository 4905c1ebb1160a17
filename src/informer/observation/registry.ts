import { messageOf } from '../../contract/errors.js'
import { onDebugSignal } from '../../contract/node-or-browser.js'
import type { Inspection } from './inspect-types.js'
import type { Measurements } from './measurements.js'

export interface Observable {
  readonly name: string
  inspect(): Inspection
  measure(): Measurements
}

/** The informers that were not stopped. They are held weakly: one to which nothing else refers is collected. */
export class InformerRegistry {
  readonly #members = new Map<string, WeakRef<Observable>>()
  readonly #collected = new FinalizationRegistry<string>((name) => {
    if (this.#members.get(name)?.deref() === undefined) this.#delete(name)
  })
  /** For each name that several informers want: all numbers below this one are taken. */
  readonly #nextNumbers = new Map<string, number>()
  readonly #endListeners = new Set<(informer: Observable) => void>()
  #isListening = false
  lastNumber = 0

  /** Returns `name`; if another informer has it, `name#2` and so on. */
  freeName(name: string): string {
    if (this.#isFree(name)) return name
    let n = this.#nextNumbers.get(name) ?? 2
    while (!this.#isFree(`${name}#${n}`)) n++
    this.#nextNumbers.set(name, n)
    return `${name}#${n}`
  }

  add(informer: Observable): void {
    this.#members.set(informer.name, new WeakRef(informer))
    this.#collected.register(informer, informer.name, informer)
    if (this.#isListening) return
    this.#isListening = true
    onDebugSignal(() => this.all.map(printed))
  }

  remove(informer: Observable): void {
    if (this.#members.get(informer.name)?.deref() === informer) this.#delete(informer.name)
    this.#collected.unregister(informer)
  }

  #isFree(name: string): boolean {
    return this.#members.get(name)?.deref() === undefined
  }

  #delete(name: string): void {
    this.#members.delete(name)
    const [, wanted = '', number = ''] = /^(.*)#(\d+)$/s.exec(name) ?? []
    const next = this.#nextNumbers.get(wanted)
    if (next === undefined || Number(number) >= next) return
    if (number === '2') this.#nextNumbers.delete(wanted)
    else this.#nextNumbers.set(wanted, Number(number))
  }

  /** Its `stop` is complete: its numbers do not change any more. */
  ended(informer: Observable): void {
    for (const listener of this.#endListeners) listener(informer)
  }

  onEnd(listener: (informer: Observable) => void): () => void {
    this.#endListeners.add(listener)
    return () => this.#endListeners.delete(listener)
  }

  get all(): readonly Observable[] {
    return Array.from(this.#members.values(), (each) => each.deref()).filter((each) => each !== undefined)
  }
}

function printed(informer: Observable): string {
  try {
    return JSON.stringify(informer.inspect())
  } catch (error) {
    return JSON.stringify({ name: informer.name, error: messageOf(error) })
  }
}

export const informers: InformerRegistry = new InformerRegistry()

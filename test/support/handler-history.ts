import { setTimeout as sleep } from 'node:timers/promises'
import type { Change, Handlers } from '../../src/index.js'

/**
 * Checks the changes that a handler receives (I4): for each key `(add update* delete)*`, and each `previous` is the very object that
 * was delivered last. It keeps only the current objects, so that it can run for long.
 */
export class HandlerHistory<T> {
  readonly objects = new Map<string, T>()
  readonly violations: string[] = []
  count = 0

  record(change: Change<T>): void {
    const { type, key, object, previous } = change
    const isKnown = this.objects.has(key)
    if (isKnown !== (type !== 'add'))
      this.#flaw(change, isKnown ? 'the key was added before' : 'the key was never added')
    if (!Object.is(previous, this.objects.get(key)))
      this.#flaw(change, 'its previous is not the object that was delivered last')
    this.count++
    if (type === 'delete') this.objects.delete(key)
    else this.objects.set(key, object)
  }

  get handlers(): Handlers<T> {
    const record = (change: Change<T>): void => this.record(change)
    return { add: record, update: record, delete: record }
  }

  /** Handlers that take their time for each change. */
  slowHandlers(ms: number): Handlers<T> {
    const tell = async (change: Change<T>): Promise<void> => {
      this.record(change)
      await sleep(ms)
    }
    return { add: tell, update: tell, delete: tell }
  }

  #flaw({ type, key, version }: Change<T>, why: string): void {
    if (this.violations.length < 10) this.violations.push(`${type} of "${key}" at ${version}: ${why}`)
  }
}

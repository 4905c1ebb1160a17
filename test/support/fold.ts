import { expect, onTestFinished } from 'vitest'
import type { Change } from '../../src/queue/change.js'
import type { Handlers } from '../../src/subscriptions/handler-types.js'

/**
 * The objects of a handler that applies every change. Each change must be legal (I4): per key `(add update* delete)*`,
 * and `previous` is the very object that was delivered last. Illegal changes fail the test when it is over, because an
 * error inside a handler is only reported.
 */
export class Fold<T> {
  readonly objects = new Map<string, T>()
  readonly changes: Change<T>[] = []
  readonly flaws: string[] = []

  constructor(name = 'the changes') {
    onTestFinished(() => expect(this.flaws, `what is wrong with ${name}`).toEqual([]))
  }

  tell(change: Change<T>): void {
    const { type, key, object, previous } = change
    const isKnown = this.objects.has(key)
    if (isKnown !== (type !== 'add')) this.#flaw(change, isKnown ? 'it was told already' : 'it was never told')
    if (!Object.is(previous, this.objects.get(key))) this.#flaw(change, 'its previous is not what was told last')
    this.changes.push(change)
    if (type === 'delete') this.objects.delete(key)
    else this.objects.set(key, object)
  }

  /** `add a`, `update a`, … */
  get told(): string[] {
    return this.changes.map(({ type, key }) => `${type} ${key}`)
  }

  get handlers(): Handlers<T> {
    const tell = (change: Change<T>): void => this.tell(change)
    return { add: tell, update: tell, delete: tell }
  }

  #flaw({ type, key, version }: Change<T>, why: string): void {
    this.flaws.push(`${type} of "${key}" at ${version}: ${why}`)
  }
}

import { expect } from 'vitest'
import type { Change } from '../../src/delta.js'
import type { Handlers } from '../../src/subscription.js'

/**
 * What somebody knows who was told the changes. Each must be legal (I4): per key `(add update* delete)*`, and
 * `previous` the very object that was told last.
 */
export class Fold<T> {
  readonly objects = new Map<string, T>()
  readonly changes: Change<T>[] = []

  tell(change: Change<T>): void {
    const known = this.objects.get(change.key)
    const what = `${change.type} of "${change.key}" at ${change.version}`
    expect(this.objects.has(change.key), `${what}: told before`).toBe(change.type !== 'add')
    expect(Object.is(change.previous, known), `${what}: previous is what was told last`).toBe(true)
    this.changes.push(change)
    if (change.type === 'delete') this.objects.delete(change.key)
    else this.objects.set(change.key, change.object)
  }

  /** `add a`, `update a`, … */
  get told(): string[] {
    return this.changes.map(({ type, key }) => `${type} ${key}`)
  }

  get handlers(): Handlers<T> {
    const tell = (change: Change<T>): void => this.tell(change)
    return { add: tell, update: tell, delete: tell }
  }
}

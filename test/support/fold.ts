import { expect, onTestFinished } from 'vitest'
import type { Change } from '../../src/queue/change.js'
import { HandlerHistory } from './handler-history.js'

/** A history with all changes. A violation fails the test when it is over: errors inside a handler are only reported. */
export class Fold<T> extends HandlerHistory<T> {
  readonly changes: Change<T>[] = []

  constructor(name = 'the changes') {
    super()
    onTestFinished(() => expect(this.violations, `what is wrong with ${name}`).toEqual([]))
  }

  override record(change: Change<T>): void {
    this.changes.push(change)
    super.record(change)
  }

  tell(change: Change<T>): void {
    this.record(change)
  }

  /** `add a`, `update a`, … */
  get told(): string[] {
    return this.changes.map(({ type, key }) => `${type} ${key}`)
  }
}

import type { Informer } from '../../../src/informer/informer-types.js'
import { isThenable } from '../../../src/util/type-guards.js'
import type { Item } from '../backend/history.js'
import type { Scenario } from '../system/scenario.js'
import type { IndexesOf } from './declared-indexes.js'

const nothing = (): void => {}

/** Calls that no type allows. Each throws at once, and changes nothing. */
const wrongCalls: Readonly<Record<string, (informer: Informer<Item, IndexesOf>) => unknown>> = {
  'subscribe without handlers': (informer) => informer.subscribe(undefined as never),
  'a handler that is not a function': (informer) => informer.subscribe({ add: 1 as never }),
  'no capacity': (informer) => informer.subscribe({}, { capacity: 0 }),
  'another delivery': (informer) => informer.subscribe({}, { delivery: 'sometimes' as never }),
  'half a concurrency': (informer) => informer.subscribe({}, { concurrency: 0.5 }),
  'a resync that never ends': (informer) => informer.subscribe({}, { resyncMs: -1 }),
  'a time-out of nothing': (informer) => informer.subscribe({}, { timeoutMs: 0 }),
  'an unknown option': (informer) => informer.subscribe({}, { deliver: 'every' } as never),
  'an index that is not there': (informer) => informer.subscribe({}, { where: { nowhere: 1 } as never }),
  'a key that is not a string': (informer) => informer.changes({ key: 1 as never }),
  'a filter that is not a function': (informer) => informer.changes({ filter: 'all' as never }),
  'a signal that is not an AbortSignal': (informer) => informer.changes({ signal: {} as never }),
  'reconcile without a function': (informer) => informer.reconcile(undefined as never),
  'a controller without room': (informer) => informer.reconcile(async () => {}, { concurrency: 0 }),
  'a version that is not a string': (informer) => informer.waitFor(1 as never),
  'a wait of no time': (informer) => informer.waitFor('1.0', { timeoutMs: 0 }),
  'a relist of no time': (informer) => informer.relist({ timeoutMs: Number.NaN }),
  'synced with a signal that is not an AbortSignal': (informer) => informer.synced({ signal: true as never }),
  'until without a condition': (informer) => informer.until('a', undefined as never),
  'until of no key': (informer) => informer.until(1 as never, () => true),
  'health after a negative time': (informer) => informer.health({ stuckAfterMs: -1 }),
  'a drain of no time': (informer) => informer.stop({ drainMs: 0 }),
  'an unknown event': (informer) => informer.on('change' as never, nothing),
  'a listener that is not a function': (informer) => informer.on('error', undefined as never),
  'an index without a name': (informer) => informer.addIndex('', (ix) => ix.equal(() => 1)),
  'an index without a function': (informer) => informer.addIndex('other', undefined as never),
  'a start with a signal that is not an AbortSignal': (informer) => informer.start({ signal: 1 as never }),
}
const names = Object.keys(wrongCalls)

/** An incorrect call must throw a TypeError, or reject with one. Its other effects are found by the other checkers. */
export function misuse({ decisions, note, violate }: Scenario, informer: Informer<Item, IndexesOf>): void {
  const name = decisions.pick('misuse', names)
  note('a wrong call', name)
  const accepted = (): void => violate('misuse', `"${name}" is not refused`)
  const refused = (error: unknown): void => {
    if (!(error instanceof TypeError)) violate('misuse', `"${name}" fails with ${error}`)
  }
  try {
    const result = wrongCalls[name]?.(informer)
    if (isThenable(result)) result.then(accepted, refused)
    else accepted()
  } catch (error) {
    refused(error)
  }
}

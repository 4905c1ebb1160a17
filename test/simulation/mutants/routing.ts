import type { Mutant } from './mutate.js'

/** The routing of commits to subscriptions, the calls of handlers one after the other, and ranks of sorted indexes. */
export const mutantsOfRouting: readonly Mutant[] = [
  {
    name: 'handlers that return settled promises block the event loop',
    breaks: 'delivery yields to the event loop (I12)',
    file: 'subscriptions/serial-delivery.ts',
    edits: [
      [
        'this.#deliver(slice, current, at + 1, slice.isOverAfterCall())',
        'this.#deliver(slice, current, at + 1, false)',
      ],
    ],
    onlyBy: {
      test: 'unit/subscriptions/large-batches.test.ts',
      named: 'whose promises settle at once',
    },
  },
  {
    name: 'a handler misses the change after a turn of the event loop',
    breaks: 'every change is delivered (I2)',
    file: 'subscriptions/serial-delivery.ts',
    edits: [['this.#deliver(slice, current, at, false)', 'this.#deliver(slice, current, at + 1, false)']],
    onlyBy: {
      test: 'unit/subscriptions/large-batches.test.ts',
      named: 'is delivered to handlers that return nothing in slices',
    },
  },
  {
    name: 'a handler is called with the rest of a batch after the close',
    breaks: 'nothing is delivered after the close (I15)',
    file: 'subscriptions/serial-delivery.ts',
    edits: [
      [
        'while (batch !== undefined && this.#feed.closed === undefined) {',
        'while (batch !== undefined && (next > 0 || this.#feed.closed === undefined)) {',
      ],
    ],
  },
  {
    name: 'the close of a subscription that was drained ends another one with its value',
    breaks: 'every change is delivered (I2)',
    file: 'subscriptions/change-router.ts',
    edits: [['if (group === feed || (group', 'if (!(group instanceof Set) || (group']],
    onlyBy: {
      test: 'unit/subscriptions/change-router.test.ts',
      named: 'that has stopped accepting changes ends no other feed',
    },
  },
  {
    name: 'a subscription receives the only change of a commit as the store made it',
    breaks: 'an object that enters the scope is an add, and one that leaves it is a delete (I5)',
    file: 'subscriptions/change-router.ts',
    edits: [['matched === changes[0] ? changes : [matched]', 'changes']],
  },
  {
    name: 'a subscription takes the place of the first with its value',
    breaks: 'every change is delivered (I2)',
    file: 'subscriptions/change-router.ts',
    edits: [['new Set([group, feed])', 'new Set([feed])']],
  },
  {
    name: 'objects that keep the first value of a scope are in scope in any case',
    breaks: 'only objects in the scope are delivered (I5)',
    file: 'subscriptions/feed.ts',
    edits: [['keepsValue && this.scope.isOneValue ? change', 'keepsValue ? change']],
  },
  {
    name: 'a sorted index takes large bigints of one rank as equal',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/slot-ranks.ts',
    edits: [['Math.abs(rank) <= Number.MAX_SAFE_INTEGER && (this', '(this']],
    onlyBy: { test: 'unit/store/indexes/sorted-index.test.ts', named: 'stay in order through 3 000 writes' },
  },
  {
    name: 'a sorted index compares second components of tuples whose first ones may differ',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/slot-ranks.ts',
    edits: [['const usesSecond = this.#hasSecond && this.isFirstExact(slot)', 'const usesSecond = this.#hasSecond']],
  },
  {
    name: 'a sorted index puts values of a lower kind last',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/slot-ranks.ts',
    edits: [['return kind < this.#kind ? -Infinity : Infinity', 'return Infinity']],
  },
  {
    name: 'a sorted index puts strings that are below the common prefix last',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/slot-ranks.ts',
    edits: [['return text < prefix ? -Infinity : Infinity', 'return Infinity']],
    onlyBy: {
      test: 'unit/store/indexes/sorted-index.test.ts',
      named: 'strings, of which later ones begin differently',
    },
  },
  {
    name: 'a sorted index loses the ranks when they need more memory',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/slot-ranks.ts',
    edits: [['      larger.set(this.#ranks)\n', '']],
  },
]

import type { Mutant } from './mutate.js'

/** Replays whose objects are searched in slices, while the store changes, and large batches that consumers take in slices. */
export const mutantsOfReplays: readonly Mutant[] = [
  {
    name: 'the search for a replay reads a store that changes',
    breaks: 'a subscription receives the state at its beginning, then every change (I4, I5)',
    file: 'subscriptions/scope-scan.ts',
    edits: [['    this.#objects = this.#pin\n', '']],
  },
  {
    name: 'a changed key is not decided before its change',
    breaks: 'a subscription receives the state at its beginning, then every change (I4, I5)',
    file: 'subscriptions/feed.ts',
    edits: [['    this.#replay?.decide(change.key)\n', '']],
  },
  {
    name: 'a key that was decided before its change is decided again',
    breaks: 'each object is in the replay once (I4)',
    file: 'subscriptions/scope-scan.ts',
    edits: [['      this.#undecided[at] = 0\n', '']],
  },
  {
    name: 'a key without the value of `where` is decided before its change',
    breaks: 'a subscription receives only objects in its scope (I5)',
    file: 'subscriptions/scope-scan.ts',
    edits: [
      [
        '    if (this.#candidates === undefined) this.#undecided.fill(1)\n    else ',
        '    this.#undecided.fill(1)\n    if (this.#candidates !== undefined) ',
      ],
    ],
    onlyBy: {
      test: 'unit/subscriptions/large-replays.test.ts',
      named: 'delivers the state at its beginning and then every change',
    },
  },
  {
    name: 'a replay is delivered before the search for its objects has ended',
    breaks: 'after its replay a subscription has the state at its beginning (I5)',
    file: 'subscriptions/replay.ts',
    edits: [['return this.#scan?.hasEnded ?? true', 'return true']],
  },
  {
    name: 'changes overtake a replay whose objects are searched',
    breaks: 'a subscription receives the state at its beginning, then every change (I4)',
    file: 'subscriptions/feed.ts',
    edits: [[' : this.#replay.isReady\n', ' : this.#replay.isReady || !this.#queue.isEmpty\n']],
  },
  {
    name: 'a controller runs a key before the objects in its scope are known',
    breaks: 'a run receives the object of its key if it is in scope',
    file: 'subscriptions/controller.ts',
    edits: [[' && !isBehind && !hasQueued\n', ' && !isBehind\n']],
    onlyBy: { test: 'unit/subscriptions/large-replays.test.ts', named: 'lets a controller wait until the objects' },
  },
  {
    name: 'a closed subscription leaves the pin of its search',
    breaks: 'after close() nothing is kept (I12, I15)',
    file: 'subscriptions/replay.ts',
    edits: [['    this.#scan?.close()\n', '']],
  },
  {
    name: 'a stop does not wait for the search for a replay',
    breaks: 'after stop() no timer is left (I15)',
    file: 'informer/informer.ts',
    edits: [
      [
        'const idle = [this.#indexer.writer.idle(), this.#feedHost.scans.idle()]',
        'const idle = [this.#indexer.writer.idle()]',
      ],
    ],
    onlyBy: {
      test: 'unit/subscriptions/large-replays.test.ts',
      named: 'is waited for by stop, until its current slice has ended',
    },
  },
  {
    name: 'a change that waited for its key comes after a batch that is being taken',
    breaks: 'the changes of a key in their order (I4)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [
      ['const ready = this.#ready.pop()', 'const ready = this.#current === undefined ? this.#ready.pop() : undefined'],
    ],
    onlyBy: {
      test: 'unit/subscriptions/handler-subscription.test.ts',
      named: 'the version is never ahead of what handlers have finished',
    },
  },
  {
    name: 'a batch counts as marked after its first slice',
    breaks: 'a controller runs each changed key (I5)',
    file: 'subscriptions/controller.ts',
    edits: [['this.#marking ??= this.#markAll()', 'this.#marking = this.#markAll()']],
  },
  {
    name: 'the changes of a batch that are not marked yet are not in the backlog',
    breaks: 'a backlog counts each key that waits',
    file: 'subscriptions/controller.ts',
    edits: [['keys + this.#unmarked + this.#pending.size', 'keys + this.#pending.size']],
    onlyBy: { test: 'unit/subscriptions/large-batches.test.ts', named: 'is marked in slices' },
  },
  {
    name: 'a drained controller forgets deletions of keys that it has not marked yet',
    breaks: 'a run receives the last state of a deleted object',
    file: 'subscriptions/controller.ts',
    edits: [['!this.feed.hasQueued && this.#marking === undefined && ', '!this.feed.hasQueued && ']],
    onlyBy: { test: 'unit/subscriptions/large-batches.test.ts', named: 'a drained controller receives the deletion' },
  },
  {
    name: 'keys that are added after all were taken are never taken',
    breaks: 'each changed key is delivered (I5)',
    file: 'queue/key-order.ts',
    edits: [['      this.#keys = this.#of.keys()\n      next', '      next']],
    onlyBy: { test: 'unit/queue/key-order.test.ts', named: 'also those that are added later or again' },
  },
]

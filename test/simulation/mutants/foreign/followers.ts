import type { Mutant } from '../mutate.js'

/** Changes for subscriptions, streams and controllers. */
export const foreignMutantsOfFollowers: readonly Mutant[] = [
  {
    // A key is still queued in a DeltaFIFO used as a sink, and one batch deletes it and puts it again.
    name: 'a put compares with the queue before the earlier events of its own batch',
    breaks: 'Per key the deltas are a legal history: after a delete comes an add, never an update (I4).',
    file: 'queue/delta-fifo.ts',
    edits: [
      [
        'const last = staged.get(key) ?? this.#lastQueued(key)',
        'const last = this.#lastQueued(key) ?? staged.get(key)',
      ],
    ],
  },
  {
    // A subscription with delivery every has batches of different ages waiting when its capacity overflows and
    // coalesces, and its backlog is read.
    name: 'merged changes have the age of the newest batch after an overflow',
    breaks: 'What was merged has waited as long as the first of it: backlog.oldestMs must not shrink at an overflow.',
    file: 'queue/change-queue.ts',
    edits: [['this.#mergedSince = this.#batches[0]?.at ?? 0', 'this.#mergedSince = this.#batches.at(-1)?.at ?? 0']],
  },
  {
    // A polling source sends one batch with a replace that lacks a stored key and an invalid event that has no
    // key.
    name: 'an invalid event without a key does not stop a replace from deleting',
    breaks: 'After an invalid object without a key, nothing that the collection did not name is deleted.',
    file: 'queue/change.ts',
    edits: [['if (event.key === undefined) return undefined', 'if (event.key === undefined) continue']],
  },
  {
    // With concurrency above 1 and resyncMs, a handler runs for a key with another change behind it when the
    // resync of that key is taken.
    name: 'a resync dropped behind a running handler never closes its batch',
    breaks:
      "A subscription's version reaches what its handlers have finished; waitFor resolves, and nothing is kept of finished batches.",
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [
      ['this.unhandled--\n      this.#inFlight.ack(unhandled.batch)\n      return', 'this.unhandled--\n      return'],
    ],
  },
  {
    // With concurrency above 1 and delivery every, three changes of a key wait behind its promise, and the handler
    // returns synchronously for the first of them.
    name: 'changes left behind one that a handler ended at once are requeued backwards',
    breaks: "Each key's changes stay in order: its states never go back within an epoch (I3).",
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [
      [
        'for (const unhandled of others.reverse()) this.#ready.push(unhandled)',
        'for (const unhandled of others) this.#ready.push(unhandled)',
      ],
    ],
  },
  {
    // With concurrency above 1 the last batch of a replay of more than 256 objects is done while a key of an
    // earlier batch is still handled, and no more changes come.
    name: 'a batch that is done behind an open one does not hand its end to that one',
    breaks: 'synced() resolves when everything the store held at the beginning has been handled.',
    file: 'subscriptions/in-flight-batches.ts',
    edits: [['    previous.end = end\n', '']],
  },
  {
    // A subscription has both key and `where`, and the store holds that key with another index value when it begins.
    name: 'the replay of a scope with key and `where` skips the first index of `where`',
    breaks:
      'A subscription receives only objects in its scope: those with this key that also have the values of `where`.',
    file: 'subscriptions/scope-filter.ts',
    edits: [['of this.key === undefined ? rest : this.where)', 'of rest)']],
  },
  {
    // A controller, or a subscription with concurrency above 1, finishes a batch from before EPOCH_CHANGED after
    // it has taken the new list, whose versions are lower and name no epoch, while waitFor is open.
    name: 'the last batch of an old history counts as one of the history taken after it',
    breaks: 'No version of a history that is over answers waitFor of a subscription.',
    file: 'subscriptions/delivery-progress.ts',
    edits: [['this.#untilHistory = this.#inFlight + 1', 'this.#untilHistory = this.#inFlight']],
  },
  {
    // Two subscriptions follow the same key or the same index value, one of them is closed, and then an object in
    // that scope changes.
    name: 'closing a subscription silences the others with the same key or value of `where`',
    breaks: 'Every subscription receives each change in its scope, whatever other subscriptions do.',
    file: 'subscriptions/change-router.ts',
    edits: [['(group instanceof Set && group.size === 0)', 'group instanceof Set']],
  },
  {
    // A subscription queries a compound index by a tuple with a Date, the caller then changes that Date, and an
    // object of the scope changes.
    name: '`where` with a tuple keeps the Dates of the caller instead of copies',
    breaks: '`where` keeps its own copy of a Date: a Date that its owner changes later moves nothing in a scope.',
    file: 'subscriptions/subscription-types.ts',
    edits: [['if (Array.isArray(value)) return value.map(copyOf)', 'if (Array.isArray(value)) return [...value]']],
  },
  {
    // A run calls requeueAfter while its key changes or is enqueued; the run for that needs no other look, and yet
    // one comes after the delay.
    name: 'a requeueAfter is kept though the key is ready already for another reason',
    breaks: 'requeueAfter runs the key again only if nothing happens to it before.',
    file: 'queue/work-queue.ts',
    edits: [
      [
        'else if (!this.#isDraining && !this.#isReady(key)) this.#cancellable.schedule(key, due)',
        'else if (!this.#isDraining) this.#cancellable.schedule(key, due)',
      ],
    ],
  },
  {
    // While the run for a deleted key is under way, the key comes back and is deleted again, and then that run
    // succeeds.
    name: 'a run for a deletion forgets a later deletion of the same key',
    breaks: 'A run for a key that is gone gets its last state as deleted until a run for that has succeeded.',
    file: 'subscriptions/controller.ts',
    edits: [
      [
        'if (deletion !== undefined && this.#deleted.get(key) === deletion) this.#deleted.delete(key)',
        'if (deletion !== undefined) this.#deleted.delete(key)',
      ],
    ],
  },
  {
    // The run after a change fails, its key changed again during that run, and a later run succeeds.
    name: 'a failed run leaves the batch open that changed its key during the run',
    breaks: "A controller's version advances, and waitFor resolves, once everything has been reconciled with success.",
    file: 'subscriptions/pending-keys.ts',
    edits: [['    else if (item.duringRun !== undefined) this.#inFlight.ack(item.duringRun)\n', '']],
  },
  {
    // A handler or run with timeoutMs ignores its signal and is still running when the subscription or the
    // informer is closed.
    name: 'a run that is ended from outside keeps its time-out running',
    breaks: 'After stop() has settled no timer is left (I15); there is no time limit once the subscription is closed.',
    file: 'subscriptions/timed-run.ts',
    edits: [
      [
        'this.#controller.abort(this.#outer.reason)\n    this.#timer.abort(ABORTED)\n',
        'this.#controller.abort(this.#outer.reason)\n',
      ],
    ],
  },
  {
    // close({ drain: true }) waits while the reader holds a batch, and the reader leaves its loop, or the signal
    // of the stream aborts.
    name: 'a stream that is closed keeps the batch that its reader has not finished',
    breaks: 'close({ drain }) ends as well when something else closes the subscription meanwhile.',
    file: 'subscriptions/batch-iterator.ts',
    edits: [['    this.#current = undefined\n    this.wake()', '    this.wake()']],
  },
]

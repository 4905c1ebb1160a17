import type { Mutant } from '../mutate.js'

/** Of other authors again, who wrote them before the simulator was made stronger against the second ones. */
export const thirdForeignMutants: readonly Mutant[] = [
  {
    name: 'a converted error of a source loses its retryAfterMs',
    breaks: 'the next open comes before the time that the server requested (R9, R13)',
    file: 'contract/errors.ts',
    edits: [['    retryAfterMs: known?.retryAfterMs,\n', '']],
  },
  {
    name: 'a list that got its slot remembers the relist that was requested before',
    breaks: 'a relist that was requested while the list waited for its slot is another list (R7, G2)',
    file: 'reflector/reflector-state.ts',
    edits: [
      ['return keep({ ...state, openedAt: at, isListWanted: false })', 'return keep({ ...state, openedAt: at })'],
    ],
  },
  {
    name: 'a relist that is requested during a delay replaces the list that is next',
    breaks:
      'the list after EPOCH_CHANGED trusts the old version, and a first list that failed is repeated as a relist (C8, R2, R3)',
    file: 'reflector/reflector-state.ts',
    edits: [
      [
        "return keep({ ...state, next: state.next.type === 'list' ? state.next : nextListOf(state), reason })",
        'return keep({ ...state, next: RELIST, reason })',
      ],
    ],
  },
  {
    name: 'the end of the own work does not restart the page timeout',
    breaks: 'the time that the library spends on a page counts towards the 30 s of the next one (C3)',
    file: 'reflector/attempt.ts',
    edits: [['      this.#isBusy = false\n      this.recordActivity()\n', '      this.#isBusy = false\n']],
  },
  {
    name: 'an incomplete list is repaired only once',
    breaks: 'later events without a key, or of an unknown type, schedule no relist (C32, B17)',
    file: 'reflector/incomplete-list-repair.ts',
    edits: [['        this.#isScheduled = false\n', '']],
  },
  {
    name: 'pop forgets that an earlier pop took from a later batch',
    breaks: 'drain reports a boundary at which the consumer has a state that the source never had (law 2)',
    file: 'queue/delta-fifo.ts',
    edits: [['this.#aheadOf = Math.max(this.#aheadOf, batch.sequence)', 'this.#aheadOf = batch.sequence']],
  },
  {
    name: 'a resync that is taken frees capacity which it did not use',
    breaks: 'after resyncs the queue holds more changes than its capacity (law 8a, law 8d)',
    file: 'queue/change-queue.ts',
    edits: [
      [
        'if (!isResync(batch.changes)) this.#count -= batch.changes.length - batch.removed',
        'this.#count -= batch.changes.length - batch.removed',
      ],
    ],
  },
  {
    name: 'a key that is ready already also gets a delay',
    breaks:
      'the key runs once more after the run that has handled everything, with the reason requeued (N1, docstring of addBy)',
    file: 'queue/work-queue.ts',
    edits: [
      [
        'else if (!this.#isDraining && !this.#isReady(key)) this.#cancellable',
        'else if (!this.#isDraining) this.#cancellable',
      ],
    ],
  },
  {
    name: 'a later event of a relist does not replace the pending write of its key',
    breaks: 'if a list has a key twice, the earlier event is written although the later one counts (B19)',
    file: 'store/list-writer.ts',
    edits: [['    if (this.#pending.size > 0) this.#pending.delete(key)\n', '']],
  },
  {
    name: 'a source that loses access keeps the version of its store',
    breaks: 'between the deletion and the next list the store has a version (C26)',
    file: 'store/partition.ts',
    edits: [['yield* transaction.commitInSteps(undefined)', 'yield* transaction.commitInSteps(this.version)']],
  },
  {
    name: 'an invalid key that is not stored belongs to no source',
    breaks: 'another source takes a key before the first one has released it (M6, M3)',
    file: 'store/key-ownership.ts',
    edits: [
      [
        'return ordinal === undefined ? this.#invalid.has(key) && !owner.invalid.has(key) : !this.owns(owner, ordinal)',
        'return ordinal !== undefined && !this.owns(owner, ordinal)',
      ],
    ],
  },
  {
    name: 'the delete of an invalid object that is not stored releases no key',
    breaks: 'a source that claims the key is not listed again, and its object stays absent (M6, I1)',
    file: 'store/transaction.ts',
    edits: [
      [
        '    this.#setValidity(key, undefined)\n    this.#writer.written(key)\n    this.#released.push(key)\n',
        '    this.#setValidity(key, undefined)\n    this.#writer.written(key)\n',
      ],
    ],
  },
  {
    name: 'a new version of an equal object reaches open snapshots',
    breaks: 'the version of an entry of a snapshot changes (S14)',
    file: 'store/store.ts',
    edits: [
      [
        '    if (this.#pins.size > 0) this.#copyToPins(ordinal)\n    this.#journal.record(ordinal, this.#entries[ordinal])\n    this.#entries[ordinal] = entry\n  }',
        '    this.#journal.record(ordinal, this.#entries[ordinal])\n    this.#entries[ordinal] = entry\n  }',
      ],
    ],
  },
  {
    name: 'a snapshot does not find keys that were deleted after a later snapshot began',
    breaks: 'get, has and entry of a snapshot lose a key that its list still has (S14)',
    file: 'store/pin.ts',
    edits: [
      [
        'it was deleted since.\n    for (let layer: PinLayer<T> | undefined = first; layer !== undefined; layer = layer.newer) {',
        'it was deleted since.\n    for (let layer: PinLayer<T> | undefined = first; layer !== undefined; layer = layer.older) {',
      ],
    ],
  },
  {
    name: 'an object that loses its index value keeps its place in the bucket',
    breaks: 'its next write removes another object from an equal index (I9)',
    file: 'store/indexes/hash-index.ts',
    edits: [
      [
        '    if (value === undefined) {\n      this.#places.set(2 * ordinal, 0)\n      return\n    }\n',
        '    if (value === undefined) return\n',
      ],
    ],
  },
  {
    name: 'moved elements do not count towards the limit of an ordered read of a snapshot',
    breaks:
      'a read with limit returns more objects than the limit, and other ones than before the write (S14, docstring of Range)',
    file: 'store/indexes/sorted-index.ts',
    edits: [['        yield before\n        at++\n        left--\n', '        yield before\n        at++\n']],
  },
  {
    name: 'a requested audit that fails is not requested again',
    breaks: 'drift that the source suspects is found only after a whole period (I16, docstring of requestAudit)',
    file: 'informer/audit.ts',
    edits: [['this.#isRequested ||= wasRequested', 'this.#isRequested &&= wasRequested']],
  },
  {
    name: 'the deletion after lost access does not end the history',
    breaks: 'a subscription resolves waits by what it handled before access was lost (C26, M10)',
    file: 'informer/source-history.ts',
    edits: [['    this.#isCleared = true\n    this.#isCurrent = false\n', '    this.#isCleared = true\n']],
  },
  {
    name: 'a large batch of a watch does not wake the subscriptions after it was routed',
    breaks: 'controllers do not run its keys, and waits of idle subscriptions stay pending (W3, W4)',
    file: 'informer/commit-routing.ts',
    edits: [['this.#routed(runner, commit, true)', "this.#routed(runner, commit, commit.origin === 'relist')"]],
  },
  {
    name: 'a slot that was released after five minutes is released again at the end of its relist',
    breaks: 'more than maxRelists members list at a time (G1, G3)',
    file: 'informer/relist-limiter.ts',
    edits: [['          if (turn.signal.aborted) return\n', '']],
  },
  {
    name: 'each stage of a group has the whole drainMs',
    breaks:
      'a stop with drainMs takes longer than drainMs, because the time does not count for all stages together (G6)',
    file: 'informer/informer-group.ts',
    edits: [
      [
        'await stopAll(stage, leftMs > 0 ? { drainMs: leftMs } : {})',
        'await stopAll(stage, leftMs > 0 ? { drainMs } : {})',
      ],
    ],
  },
  {
    name: 'the last batch of an ended history counts for the next history',
    breaks: 'a version of the old history settles a wait of a subscription for the new one (C10)',
    file: 'subscriptions/delivery-progress.ts',
    edits: [['this.#untilHistory = this.#inFlight + 1', 'this.#untilHistory = this.#inFlight']],
  },
  {
    name: 'closing a subscription leaves its waits for the store pending',
    breaks: 'waitFor does not reject with STOPPED when the subscription is closed (docstring of waitFor, B6)',
    file: 'subscriptions/feed-waits.ts',
    edits: [['    for (const settle of [...(this.#versions?.pending ?? [])]) settle.reject(reason)\n', '']],
  },
  {
    name: 'a failed run does not forget the batch that came during it',
    breaks: 'a change during the next run is not tracked, so the version runs ahead of what was reconciled (law 6)',
    file: 'subscriptions/pending-keys.ts',
    edits: [['    item.duringRun = undefined\n', '']],
  },
  {
    name: 'a change of a watched informer runs keys of a controller that is being drained',
    breaks: 'a drain starts runs that were requested after it, and may never end (F7, F5)',
    file: 'subscriptions/controller.ts',
    edits: [["if (!this.#queue.isDraining) this.#enqueueFor('watches', key)", "this.#enqueueFor('watches', key)"]],
  },
  {
    name: 'a resync does not wait for a large commit that is being routed',
    breaks: 'a key is delivered as an update before the add or update of that commit (I4, F2)',
    file: 'subscriptions/resync.ts',
    edits: [['while (feed.hasQueued || feed.isBehind) await', 'while (feed.hasQueued) await']],
  },
  {
    name: 'the replay of a subscription with a key does not check the first index of the option `where`',
    breaks: 'it delivers an object that is out of scope (docstring of Scope, I5)',
    file: 'subscriptions/scope-filter.ts',
    edits: [
      [
        'for (const [index, value] of this.key === undefined ? rest : this.where) {',
        'for (const [index, value] of rest) {',
      ],
    ],
  },
  {
    name: 'closing a subscription with a key and `where` ends the routing to all that have its index value',
    breaks: 'other subscriptions with the same value in `where` lose all later changes (I2, I5)',
    file: 'subscriptions/change-router.ts',
    edits: [
      [
        'if (index !== undefined && this.#byValue.get(index)?.size === 0)',
        'if (index !== undefined && (feed.scope.key !== undefined || this.#byValue.get(index)?.size === 0))',
      ],
    ],
  },
  {
    name: 'changes that waited for a handler of their key become ready in reverse order',
    breaks: 'a handler receives the states of a key in the wrong order (I3, I4)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [['for (const unhandled of others.reverse()) this.#ready', 'for (const unhandled of others) this.#ready']],
  },
  {
    name: 'closing a subscription does not end the selection of its replay',
    breaks: 'the filter is called after close and after stop (W11, I15)',
    file: 'subscriptions/replay.ts',
    edits: [['    this.#scan?.close()\n', '']],
  },
]

import type { Mutant } from '../mutate.js'

/** Of other authors, written before the simulator was made stronger against the first ones. */
export const secondForeignMutants: readonly Mutant[] = [
  {
    // A snapshot is open, the source then sends an object with equal content under a new version, and
    // snapshot.entry(key).version is read.
    name: 'a new version of an unchanged object shows through older snapshots',
    breaks: 'snapshot() stays as it is, whatever is written later, through every accessor.',
    file: 'store/store.ts',
    edits: [
      [
        '    if (this.#pins.size > 0) this.#copyToPins(ordinal)\n    this.#journal.record(ordinal, this.#entries[ordinal])\n    this.#entries[ordinal] = entry\n  }',
        '    this.#journal.record(ordinal, this.#entries[ordinal])\n    this.#entries[ordinal] = entry\n  }',
      ],
    ],
  },
  {
    // With an audit by versions, transform leaves an object out, an update makes it wanted, and the next audit comes
    // before any relist.
    name: 'an object that is wanted again stays remembered as left out',
    breaks: 'The audit finds nothing if nothing is wrong: here it reports a difference and lists again.',
    file: 'store/transaction.ts',
    edits: [['    if (filtered.size > 0) filtered.delete(entry.key)\n', '']],
  },
  {
    // A watch batch with a replace that lacks a key which the store has, and a handler that looks at finalState of
    // the delete.
    name: 'a delete inferred from a polled replace has a known final state',
    breaks:
      "finalState is 'unknown' if a deletion was inferred from a whole collection, because the object may be stale.",
    file: 'store/transaction.ts',
    edits: [["      this.remove(key, 'unknown', undefined, gone)\n      yield", '      this.remove(key)\n      yield']],
  },
  {
    // values() of an equal or multi index is called between two pages of the first list.
    name: 'values() of an equal index shows a first list before it is whole',
    breaks: 'I8: no read sees part of a list.',
    file: 'store/indexes/hash-index.ts',
    edits: [
      [
        'return this.#isReadable ? Array.from(this.#byValue.values(), ({ value }) => copyScalar(value) as V) : []',
        'return Array.from(this.#byValue.values(), ({ value }) => copyScalar(value) as V)',
      ],
    ],
  },
  {
    // An ordered index over more than 512 objects was read once, all of a middle chunk (256 neighbours) is deleted,
    // then a lower range or count is read.
    name: 'an ordered index keeps chunks that have become empty',
    breaks: 'I9: every index equals the recomputed one; here ranges and counts lose objects that are there.',
    file: 'store/indexes/slot-order.ts',
    edits: [['    this.#firsts.splice(chunk, 1)\n    this.#chunks.splice(chunk, 1)\n    this.#freeIds.push(id)\n', '']],
  },
  {
    // An object's Buffer or typed array is updated to one of the same length at another offset of the same
    // underlying buffer, as pooled Buffers are.
    name: 'two byte views are compared at the offset of the first one',
    breaks: 'I1: the store equals the source; a change of bytes is taken for no change and never emitted.',
    file: 'store/structural-equal.ts',
    edits: [
      ['new Uint8Array(b.buffer, b.byteOffset, b.byteLength)', 'new Uint8Array(b.buffer, a.byteOffset, b.byteLength)'],
    ],
  },
  {
    // With freeze on, the source reports a delete with the object's last state, and a handler changes the object of
    // that delete.
    name: 'the last state that a delete brings is handed out unfrozen',
    breaks: 'If objects are frozen, a handler that changes an object gets a TypeError.',
    file: 'store/ingest.ts',
    edits: [
      [
        '    const { prepare, freeze } = this.#options\n    if (object === undefined) return undefined\n    try {\n      const last = prepare === undefined ? (object as T) : prepare(object, key)\n      return freeze ? deepFreeze(last) : last\n',
        '    const { prepare } = this.#options\n    if (object === undefined) return undefined\n    try {\n      return prepare === undefined ? (object as T) : prepare(object, key)\n',
      ],
    ],
  },
  {
    // A sink of one's own takes most of the time-out for one page, and the source then needs less than 30 s, but
    // more than the rest, for the next.
    name: 'silence counts from before the sink was busy, not from its end',
    breaks: 'The time in which we are busy with a page does not count as silence of the source.',
    file: 'reflector/attempt.ts',
    edits: [['      this.#isBusy = false\n      this.recordActivity()\n', '      this.#isBusy = false\n']],
  },
  {
    // Two waits for marks of an epoch that is over, the second begun while the head request of the first is open, on
    // a source that stays quiet.
    name: 'a wait that begins while the head is being read is never judged',
    breaks: "A wait for a mark of another epoch rejects with EPOCH_CHANGED once the source's head says so.",
    file: 'informer/epoch-check.ts',
    edits: [
      [
        '      const asked = [...this.#waiting]\n      this.#waiting.clear()\n',
        '      const asked = [...this.#waiting]\n',
      ],
      [
        '        attempt.abort(ABORTED)\n        this.#attempt = undefined\n',
        '        attempt.abort(ABORTED)\n        this.#attempt = undefined\n        this.#waiting.clear()\n',
      ],
    ],
  },
  {
    // More than 16 delays of a controller become out of date while keys wait whose times are not in the order in
    // which they were first set.
    name: 'the times of delayed keys are left unsorted when old ones are dropped',
    breaks: 'A key with a delay or requeueAfter is run at its time; here it waits for a later key.',
    file: 'queue/delay-queue.ts',
    edits: [
      [
        'this.#heap = Array.from(this.#due, ([key, due]) => [due, key] as const).sort(([a], [b]) => a - b)',
        'this.#heap = Array.from(this.#due, ([key, due]) => [due, key] as const)',
      ],
    ],
  },
  {
    // stop() while a wait for a mark of another epoch has a head request open that does not answer: its 30 s timer
    // and its signal stay.
    name: 'the end of a source leaves its request for the head open',
    breaks: 'I15: after stop() has settled there is no timer, socket or listener.',
    file: 'informer/source-runner.ts',
    edits: [['    this.#epochs?.end()\n', '']],
  },
  {
    // An object without a key comes in a list, not in the watch: in the first one, or in one more than 5 minutes
    // after the last.
    name: 'a list that is incomplete again is repeated without the five minutes',
    breaks: 'For an invalid object without a key a relist is scheduled, at most one in 5 minutes.',
    file: 'reflector/incomplete-list-repair.ts',
    edits: [
      [
        '    const due = (isListing ? this.#clock.now() : this.#listedAt) + INCOMPLETE_RELIST_MS\n',
        '    const due = this.#listedAt + INCOMPLETE_RELIST_MS\n',
      ],
    ],
  },
  {
    // EPOCH_CHANGED and the list after it; then, within the new epoch, a relist that returns an older version than
    // was shown.
    name: 'after a change of epoch no later list has a floor any more',
    breaks: 'I11: a list older than what was shown is refused, unless the epoch changed.',
    file: 'reflector/reflector-state.ts',
    edits: [
      [
        'function memoryOf({ spacing, immediateAt, saved, relists, reconnects }: Memory): Memory {\n  return {',
        'function memoryOf({ spacing, immediateAt, saved, relists, reconnects, ...rest }: Memory): Memory {\n  return { ignoreVersions: Object(rest).ignoreVersions === true,',
      ],
      [
        'if (isWatching(state)) return nextListOf(state)',
        'if (isWatching(state)) return { ...nextListOf(state), ignoreVersions: Object(state).ignoreVersions === true }',
      ],
    ],
  },
  {
    // Two sources of a set have the same key, and the one that came second is audited.
    name: 'the audit counts a key that belongs to another source as a difference',
    kind: 'set',
    breaks: 'The audit finds nothing if nothing is wrong: here it reports and relists each period.',
    file: 'informer/audit.ts',
    edits: [
      [
        "if (item.type === 'delete' || part.isOwnedByOther(key, ordinal)) return false",
        "if (item.type === 'delete') return false",
      ],
    ],
  },
  {
    // A subscription with resyncMs and a small capacity has handled a resync, and then falls behind by more than its
    // capacity.
    name: 'a resync that is taken from the queue makes room for further changes',
    breaks: 'An `every` queue holds at most `capacity` changes, and a resync does not count.',
    file: 'queue/change-queue.ts',
    edits: [
      [
        'if (!isResync(batch.changes)) this.#count -= batch.changes.length - batch.removed',
        'this.#count -= batch.changes.length - batch.removed',
      ],
    ],
  },
  {
    // A source sends a batch twice under one version that has a replace with a key and then a delete, or an invalid
    // event, of that key.
    name: 'a repeated batch puts back a key that it deletes after its replace',
    breaks: 'The last batch, when repeated, changes nothing: it comes to the last event of each key.',
    file: 'queue/change.ts',
    edits: [['      whole?.delete(event.key)\n', '']],
  },
  {
    // With concurrency above 1 and delivery every, three changes of a key wait behind its slow handler, and the
    // handler of the next one returns no promise.
    name: 'changes that waited behind a slow handler are requeued in reverse order',
    breaks: "Each key's changes are emitted in order, and `previous` is what the handler saw last.",
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [
      [
        'for (const unhandled of others.reverse()) this.#ready.push(unhandled)',
        'for (const unhandled of others) this.#ready.push(unhandled)',
      ],
    ],
  },
  {
    // With concurrency above 1, handlers of two batches of the old epoch still run when the list of the new epoch is
    // taken, and the first ends while a caller waits for a version.
    name: 'a batch of the old history that finishes late counts as one of the new history',
    breaks: "After EPOCH_CHANGED no version of the history that is over answers a subscription's waitFor.",
    file: 'subscriptions/delivery-progress.ts',
    edits: [
      [
        'const history = this.#untilHistory > 0 ? this.handled.history : this.#history',
        'const history = this.#history',
      ],
    ],
  },
  {
    // A caller subscribes with both key and `where` while the store holds that key with another value in that index.
    name: 'the replay of a scope with key and `where` ignores the first index',
    breaks: 'A subscription receives only objects in its scope: the key, and the values of `where`.',
    file: 'subscriptions/scope-filter.ts',
    edits: [['of this.key === undefined ? rest : this.where)', 'of rest)']],
  },
  {
    // Two subscriptions follow different values of one index, one of them is closed, and then an object with the
    // other value changes.
    name: 'closing the last follower of one index value cuts off those of other values',
    breaks: 'A subscription receives every change in its scope exactly once.',
    file: 'subscriptions/change-router.ts',
    edits: [['if (index !== undefined && this.#byValue.get(index)?.size === 0)', 'if (index !== undefined)']],
  },
  {
    // A key changes while a run that calls requeueAfter is under way, and the time passes after the next run.
    name: 'requeueAfter keeps its time for a key that is ready again already',
    breaks: '`requeueAfter` runs the key again only if nothing happens to it before: no change, no resync.',
    file: 'queue/work-queue.ts',
    edits: [
      [
        'else if (!this.#isDraining && !this.#isReady(key)) this.#cancellable.schedule(key, due)',
        'else if (!this.#isDraining) this.#cancellable.schedule(key, due)',
      ],
    ],
  },
  {
    // A key changes while a run for an earlier change of it is under way, that run fails, and the retry succeeds.
    name: 'a failed run never finishes the batch with the change that came during it',
    breaks: "A controller's version advances, and waitFor resolves, once everything has been reconciled with success.",
    file: 'subscriptions/pending-keys.ts',
    edits: [['    else if (item.duringRun !== undefined) this.#inFlight.ack(item.duringRun)\n', '']],
  },
  {
    // close({ drain: true }) is called when the queue is empty and the reader has not requested the next batch yet.
    name: 'a drained stream closes while its reader still handles the last batch',
    breaks: '`close({ drain })` ends a stream only after everything that waits has been handled.',
    file: 'subscriptions/batch-iterator.ts',
    edits: [['return this.feed.hasQueued || this.#current !== undefined', 'return this.feed.hasQueued']],
  },
  {
    // An informer has two subscriptions or controllers, and only the one that came later has a handler that hangs.
    name: 'health looks for a stuck handler in the first subscription only',
    breaks:
      'With `stuckAfterMs` an informer is not ready while any handler or run has been running for longer than that.',
    file: 'informer/informer-status.ts',
    edits: [
      [
        'if (running === undefined || ranMs <= ms) continue',
        'if (running === undefined || ranMs <= ms) return undefined',
      ],
    ],
  },
  {
    // relist() is called in the middle of a list that has read its snapshot already.
    name: 'relist resolves with a list that was on its way when it was called',
    breaks: '`relist` reads the whole source again after the call, and resolves when that is in the store.',
    file: 'informer/informer-waits.ts',
    edits: [['({ name, runner, lists: runner.reflector.lists })', '({ name, runner, lists: runner.listed })']],
  },
  {
    // A group is stopped with drainMs while changes wait behind a slow handler of one of its members.
    name: 'the stop of a group does not pass drainMs on to its members',
    kind: 'group',
    breaks: '`stop({ drainMs })` lets subscriptions and controllers handle what waits, for at most that time.',
    file: 'informer/informer-group.ts',
    edits: [['async (member) => member.stop(options)', 'async (member) => member.stop()']],
  },
  {
    // In a source set a key is invalid that has no valid object in the store, and then its source sends it as valid,
    // or deletes it.
    name: "a source's own invalid key without a stored object counts as another source's",
    kind: 'set',
    breaks: 'A later good event clears an invalid object, also over several sources.',
    file: 'store/key-ownership.ts',
    edits: [['this.#invalid.has(key) && !owner.invalid.has(key)', 'this.#invalid.has(key)']],
  },
  {
    // The condition of an until() holds at the call already, and further batches arrive after that.
    name: 'a wait that settles at the call stays registered',
    breaks: 'Nothing is left behind of a wait: a condition of `until` is not called after it was resolved.',
    file: 'util/deadline.ts',
    edits: [
      [
        '    if (isSettled) unregister()\n    else if (timeoutMs !== undefined && timer !== undefined) {',
        '    if (!isSettled && timeoutMs !== undefined && timer !== undefined) {',
      ],
    ],
  },
  {
    // With concurrency of 3 or more, handlers of three successive batches end in reverse order, and then the source
    // sends a bookmark.
    name: 'a batch that ends several batches counts as one when an earlier one takes it in',
    breaks: "Once everything is handled, a subscription's version follows the store, and waitFor resolves.",
    file: 'subscriptions/in-flight-batches.ts',
    edits: [['previous.batches += batches', 'previous.batches++']],
  },
]

import type { Kind } from '../runner/schedule.js'
import type { Mutant } from './mutate.js'

const kind: Kind = 'set'

/** Several sources in one store: owners of keys, added and removed sources. */
export const mutantsOfSets: readonly Mutant[] = [
  {
    name: "a removed source's keys stay",
    breaks: 'the objects of a source are removed with it',
    kind,
    file: 'store/transaction.ts',
    edits: [['|| !isGone(key)) continue', '|| !isGone(key) || this.#version === undefined) continue']],
  },
  {
    name: "a removed source's invalid keys stay invalid",
    breaks: 'the objects of a source are removed with it',
    kind,
    file: 'store/transaction.ts',
    edits: [['if (isGone(key)) this.markValid', 'if (isGone(key) && this.#version !== undefined) this.markValid']],
  },
  {
    name: 'a list ignores that it has deleted a key which another source has written meanwhile',
    breaks: 'an object in the store is one of its source at its version (M6)',
    kind,
    file: 'store/list-writer.ts',
    edits: [
      [
        '    if (this.#pending.size > 0) this.#pending.delete(key)\n',
        '    if (this.#pending.size > 0 && !ownership.isOwnedByOther(partition, key, ordinal)) this.#pending.delete(key)\n',
      ],
    ],
    onlyBy: {
      test: 'unit/store/key-ownership.test.ts',
      named: 'the list deletes the key before the other source does',
    },
  },
  {
    name: 'informers are not notified that a source was removed',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'informer/source-set.ts',
    edits: [['    this.#notify((listener) => listener.removed(name))\n', '']],
  },
  {
    name: 'informers are not notified that a source was added',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'informer/source-set.ts',
    edits: [['    this.#notify((listener) => listener.added(name, source))\n', '']],
  },
  {
    name: 'a set notifies its informers twice of each change',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'informer/source-set.ts',
    edits: [
      [
        'if (this.#listeners.has(listener)) notify(listener)',
        'if (this.#listeners.has(listener)) notify(listener), notify(listener)',
      ],
    ],
  },
  {
    name: 'a removed source is still read',
    breaks: 'a removed source delivers nothing any more',
    kind,
    file: 'informer/source-runner.ts',
    edits: [['    this.#ending.abort(ABORTED)\n', '']],
  },
  {
    name: 'a wait for a removed source never ends',
    breaks: 'a wait for a source that is removed rejects',
    kind,
    file: 'informer/source-runner.ts',
    edits: [['    this.waiters.rejectAll(reason)\n', '']],
  },
  {
    name: 'a relist waits for a removed source',
    breaks: 'a relist does not wait for a source that is removed',
    kind,
    file: 'informer/informer-waits.ts',
    edits: [['runner.listed > lists || runners.get(name) !== runner', 'runner.listed > lists && name !== undefined']],
  },
  {
    name: 'synced before all sources are',
    breaks: 'synced means all (I8)',
    kind,
    file: 'informer/informer-sources.ts',
    edits: [
      [
        'Array.from(this.#runners.values()).every(({ isListed, isCleared }) => isListed && !isCleared)',
        '(this.#runners.size === 0 || Array.from(this.#runners.values()).some(({ isListed }) => isListed))',
      ],
    ],
  },
  {
    name: 'a stopped informer follows its set',
    breaks: 'after stop() nothing is opened (I15)',
    kind,
    file: 'informer/informer-sources.ts',
    edits: [
      ['    this.#unfollow()\n', ''],
      ['      if (!this.#host.stopped.aborted) act()\n', '      act()\n'],
    ],
  },
  {
    name: 'a relist deletes the objects of another source',
    breaks: 'a relist of one source changes nothing of the others',
    kind,
    file: 'store/key-ownership.ts',
    edits: [
      [
        'return !this.#isShared || this.#owners[ordinal] === owner',
        'return !this.#isShared || this.#owners[ordinal] !== undefined',
      ],
    ],
  },
  {
    name: 'a place in the store keeps its first owner',
    breaks: 'a key belongs to its source, at any place in the store',
    kind,
    file: 'store/key-ownership.ts',
    edits: [['    this.#owners[ordinal] = owner\n  }\n\n', '    this.#owners[ordinal] ??= owner\n  }\n\n']],
  },
  {
    name: 'a key goes to the source that writes it last',
    breaks: 'a key that two sources have stays with the first',
    kind,
    file: 'store/transaction.ts',
    edits: [["    if (this.#isForeign(arrived.key, 'put', ordinal)) return\n", '']],
  },
  {
    name: 'a key is deleted by a source that does not own it',
    breaks: 'a key that two sources have stays with the first',
    kind,
    file: 'store/transaction.ts',
    edits: [["    if (this.#isForeign(key, 'delete', this.#writer.store.ordinalOf(key))) return\n", '']],
  },
  {
    name: 'a list takes over keys that another source wrote meanwhile',
    breaks: 'a key that two sources have stays with the first',
    kind,
    file: 'store/list-writer.ts',
    edits: [['    this.#dropForeign()\n', '']],
  },
  {
    name: 'a key that its source released has no owner',
    breaks: 'a key that the first source releases goes to the next',
    kind,
    file: 'store/key-ownership.ts',
    edits: [['    return claimants\n  }\n}', '    return claimants?.size === -1 ? claimants : undefined\n  }\n}']],
  },
  {
    name: 'a wait of a subscription ends before its changes are handled',
    breaks: 'a wait of a subscription ends when its version has been handled (I7)',
    kind,
    file: 'subscriptions/feed-wait.ts',
    edits: [
      [
        'const leaveWaiters = this.#feed.enterFeed(mark, { resolve, reject: this.#settle.reject })',
        'this.#settle.resolve()\n    const leaveWaiters = (): void => {}',
      ],
    ],
  },
  {
    name: 'the queue of a follower of a set has no limit',
    breaks: 'queues are bounded (I12)',
    kind,
    file: 'subscriptions/feed.ts',
    edits: [['new ChangeQueue(options,', 'new ChangeQueue(host.isOfSet ? { delivery: options.delivery } : options,']],
  },
  {
    name: 'an overflow of a follower of a set merges nothing',
    breaks: 'queued changes are merged into one batch (I12)',
    kind,
    file: 'subscriptions/feed.ts',
    edits: [
      [
        "if (this.#onOverflow === 'coalesce') yield*",
        "if (this.#onOverflow === 'coalesce' && source !== undefined) return\n      if (this.#onOverflow === 'coalesce') yield*",
      ],
    ],
  },
  {
    name: 'changes of one source are delivered before those of another',
    breaks: 'followers see one order, that of the commits',
    kind,
    file: 'queue/change-queue.ts',
    edits: [
      [
        'const batch = this.#batches.shift()',
        'const next = this.#batches.findIndex(({ source }) => source !== this.#batches[0]?.source)\n    const [batch] = this.#batches.splice(Math.max(next, 0), 1)',
      ],
    ],
  },
  {
    name: 'a change merged from several sources loses the place of its key',
    breaks: 'a queued key keeps its place',
    kind,
    file: 'queue/change-queue.ts',
    edits: [
      [
        '      const pending = mergePending(merged.get(change.key), change)\n',
        '      const pending = mergePending(merged.get(change.key), change)\n      if (this.#mergedFrom === undefined) merged.delete(change.key)\n',
      ],
    ],
  },
  {
    name: 'a batch does not say of which source it is',
    breaks: 'a batch names its source, unless several are merged',
    kind,
    file: 'subscriptions/feed.ts',
    edits: [
      ['version: undefined, source, isSynced: true }', 'version: undefined, source: undefined, isSynced: true }'],
    ],
  },
  {
    name: 'a busy handler delays followers of other sources',
    breaks: 'a stuck handler slows no other follower (I12)',
    kind,
    file: 'subscriptions/serial-delivery.ts',
    edits: [
      [
        '        void working.then(() => this.#deliver(slice, current, at + 1, slice.isOverAfterCall()))\n',
        `        Object(this.#feed.host).isHeldUp = this.#feed.host.isOfSet
        void working.then(() => {
          Object(this.#feed.host).isHeldUp = false
          this.#deliver(slice, current, at + 1, slice.isOverAfterCall())
        })
`,
      ],
      [
        '    void READY.then(() => {\n',
        `    void READY.then(async () => {
      while (Object(this.#feed.host).isHeldUp) await this.#feed.host.clock.sleep(1)
`,
      ],
    ],
  },
  {
    name: 'a deletion by the removal of a source has a known final state',
    breaks: 'a deletion that the source did not report has an unknown final state (I4)',
    kind,
    file: 'store/transaction.ts',
    edits: [
      [
        "      this.remove(key, 'unknown', undefined, gone)\n      yield",
        "      this.remove(key, this.#version === undefined ? 'known' : 'unknown', undefined, gone)\n      yield",
      ],
    ],
  },
  {
    name: 'a deletion by a list of one of several sources has a known final state',
    breaks: 'a deletion that the source did not report has an unknown final state (I4)',
    kind,
    file: 'store/transaction.ts',
    edits: [
      [
        "this.#finalState = origin === 'watch' ?",
        "this.#finalState = origin === 'watch' || (origin === 'relist' && partition.name !== undefined) ?",
      ],
    ],
  },
  {
    name: 'a delete event of one of several sources has an unknown final state',
    breaks: 'a deletion that the source reported has a known final state (I4)',
    kind,
    file: 'store/transaction.ts',
    edits: [
      [
        "this.#finalState = origin === 'watch' ?",
        "this.#finalState = origin === 'watch' && partition.name === undefined ?",
      ],
    ],
  },
  {
    name: 'a list of one of several sources emits equal objects again',
    breaks: 'an equal object is not emitted again (I3)',
    kind,
    file: 'store/list-writer.ts',
    edits: [
      [
        'ingest.ingest(event, current, this.#ignoreVersions, partition.name)',
        'ingest.ingest(event, partition.name === undefined ? current : undefined, this.#ignoreVersions, partition.name)',
      ],
    ],
  },
  {
    name: 'an equal object counts as a change in a part of a store',
    breaks: 'an equal object is not emitted again (I3)',
    kind,
    file: 'store/transaction.ts',
    edits: [
      [
        'if (ordinal !== undefined && current?.object === entry.object && !isOther) {',
        'if (ordinal !== undefined && current?.object === entry.object && !isOther && !ownership.isShared) {',
      ],
    ],
  },
  {
    name: 'a merged batch names one of its sources',
    breaks: 'a batch names its source, unless several are merged',
    kind,
    file: 'queue/change-queue.ts',
    edits: [
      [
        'else if (this.#mergedFrom !== source) this.#mergedFrom = undefined',
        'else if (this.#mergedFrom === undefined) this.#mergedFrom = source',
      ],
    ],
  },
  {
    name: 'a list that ends in the moment of the removal is committed',
    breaks: 'no object of a source is in the store after its removal (M2)',
    kind,
    file: 'reflector/reflector.ts',
    edits: [['      attempt.throwIfAborted()\n      hasCommitBegun', '      hasCommitBegun']],
    onlyBy: { test: 'unit/informer/source-set-races.test.ts', named: 'of its first list leaves no object' },
  },
]

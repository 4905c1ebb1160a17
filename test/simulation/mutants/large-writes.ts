import type { Mutant } from './mutate.js'

/** Large writes: what readers, subscriptions and waits see until a write is committed, and until it is routed. */
export const mutantsOfLargeWrites: readonly Mutant[] = [
  {
    name: 'a large write does not pin the state before it',
    breaks: 'readers see nothing of a write before its commit (I8)',
    file: 'store/store-writer.ts',
    edits: [['    this.store.hold()\n', '']],
  },
  {
    name: 'the pin of a large write is released when the commit is routed',
    breaks: 'the commit is visible to all readers when its routing begins',
    file: 'store/store-writer.ts',
    edits: [['    this.#isWriting = false\n    this.store.release()\n', '    this.#isWriting = false\n']],
  },
  {
    name: 'the pin of a large write is released after the first slice',
    breaks: 'readers see nothing of a write before its commit (I8)',
    file: 'store/store-writer.ts',
    edits: [
      [
        '        await this.#clock.sleep(0)\n        if (',
        '        this.store.release()\n        await this.#clock.sleep(0)\n        if (',
      ],
    ],
  },
  {
    name: 'an abandoned write becomes visible',
    breaks: 'after stop() readers keep the state before a write that was not committed',
    file: 'store/store-writer.ts',
    edits: [['      if (this.#transaction === undefined) this.store.release()\n', '      this.store.release()\n']],
  },
  {
    name: 'a stop does not end a large write',
    breaks: 'after stop() the store does not change (I15)',
    file: 'informer/informer.ts',
    edits: [['    this.#indexer.writer.end()\n', '']],
  },
  {
    name: 'a small write does not wait for a large one',
    kind: 'set',
    breaks: 'writes are performed in the order of the calls',
    file: 'store/store-writer.ts',
    edits: [['if (this.#queue.isBusy || size > this.#slices.largeWrite)', 'if (size > this.#slices.largeWrite)']],
  },
  {
    name: 'large writes run at the same time',
    breaks: 'one transaction writes at a time',
    file: 'util/serial-queue.ts',
    edits: [
      ['this.#size++ === 0 ? action() : earlier.then(action)', 'this.#size++ >= 0 ? action() : earlier.then(action)'],
    ],
  },
  {
    name: 'an object is read from a store that is being written',
    breaks: 'readers see nothing of a write before its commit (I8)',
    file: 'store/indexer.ts',
    edits: [
      [
        'get(key: string): T | undefined {\n    return this.store.readers.',
        'get(key: string): T | undefined {\n    return (this.store.held === undefined ? this.store.readers : this.store).',
      ],
    ],
  },
  {
    name: 'the size is that of a store that is being written',
    breaks: 'readers see nothing of a write before its commit (I8)',
    file: 'store/indexer.ts',
    edits: [
      [
        'return this.store.readers.size',
        'return (this.store.held === undefined ? this.store.readers : this.store).size',
      ],
    ],
  },
  {
    name: 'a list is read from a store that is being written',
    breaks: 'readers see nothing of a write before its commit (I8)',
    file: 'store/indexer.ts',
    edits: [
      [
        'return this.store.readers.list()',
        'return (this.store.held === undefined ? this.store.readers : this.store).list()',
      ],
    ],
  },
  {
    name: 'entries are read from a store that is being written',
    breaks: 'readers see nothing of a write before its commit (I8)',
    file: 'store/indexer.ts',
    edits: [
      [
        'return pairsOf(this.store.readers.entries())',
        'return pairsOf((this.store.held === undefined ? this.store.readers : this.store).entries())',
      ],
    ],
  },
  {
    name: 'a snapshot pins a store that is being written',
    breaks: 'a snapshot has the state before a write that is not committed',
    file: 'store/indexer.ts',
    edits: [
      [
        '(this.store.readers.pin(), this.version',
        '((this.store.held === undefined ? this.store.readers : this.store).pin(), this.version',
      ],
    ],
  },
  {
    name: 'the version of a large write is set before its commit',
    breaks: 'the version is that of the state which readers see',
    file: 'store/transaction.ts',
    edits: [
      [
        '    if (this.#writer.isBusy) yield*',
        '    this.#partition.version = version\n    if (this.#writer.isBusy) yield*',
      ],
    ],
  },
  {
    name: 'the first list is visible before its commit',
    breaks: 'no read sees the first list without its version (I8)',
    file: 'store/list-writer.ts',
    edits: [
      [
        '    if (isBusy) yield* store.prepareIndexes()\n    store.isVisible = true\n',
        '    store.isVisible = true\n    if (isBusy) yield* store.prepareIndexes()\n',
      ],
    ],
  },
  {
    name: 'invalid objects are visible before the commit',
    breaks: 'the errors of invalid objects change with the objects',
    file: 'store/transaction.ts',
    edits: [
      [
        '    this.#setValidity(key, { error, version })\n',
        '    this.#setValidity(key, { error, version })\n    this.#writer.invalid.set(key, error)\n',
      ],
    ],
  },
  {
    name: 'an index is read from a store that is being written',
    breaks: 'an index has the state before a write that is not committed (I9)',
    file: 'store/indexes/hash-index.ts',
    edits: [['      if (this.store.held !== undefined) return this.accessorAt<V>(this.store.held)(value)\n', '']],
  },
  {
    name: 'an index counts a store that is being written',
    breaks: 'an index has the state before a write that is not committed (I9)',
    file: 'store/indexes/hash-index.ts',
    edits: [['      if (this.store.held !== undefined) return this.accessorAt<V>(this.store.held).count(value)\n', '']],
  },
  {
    name: 'an index has the values of a store that is being written',
    breaks: 'an index has the state before a write that is not committed (I9)',
    file: 'store/indexes/hash-index.ts',
    edits: [['      if (this.store.held !== undefined) return this.accessorAt<V>(this.store.held).values()\n', '']],
  },
  {
    name: 'entries of an index are read from a store that is being written',
    breaks: 'an index, and `where`, have the state before a write that is not committed (I5, I9)',
    file: 'store/indexes/hash-index.ts',
    edits: [['    if (this.store.held !== undefined) return this.#pinned(this.store.held, value)\n', '']],
  },
  {
    name: 'a sorted index is read from a store that is being written',
    breaks: 'an index has the state before a write that is not committed (I9)',
    file: 'store/indexes/sorted-index.ts',
    edits: [['    pin: Pin<T> | undefined = this.#store.held,\n', '    pin?: Pin<T>,\n']],
  },
  {
    name: 'a sorted index counts a store that is being written',
    breaks: 'an index has the state before a write that is not committed (I9)',
    file: 'store/indexes/sorted-index.ts',
    edits: [['#count(span: Span, pin: Pin<T> | undefined = this.#store.held)', '#count(span: Span, pin?: Pin<T>)']],
  },
  {
    name: 'a sorted index has the values of a store that is being written',
    breaks: 'an index has the state before a write that is not committed (I9)',
    file: 'store/indexes/sorted-index.ts',
    edits: [['#distinct(pin: Pin<T> | undefined = this.#store.held)', '#distinct(pin?: Pin<T>)']],
  },
  {
    name: 'an index that is being filled is recorded in pins',
    breaks: 'a pin is not affected by a new index',
    file: 'store/store.ts',
    edits: [['return this.#indexes.isFilling ? undefined : this.#pins.newest', 'return this.#pins.newest']],
  },
  {
    name: 'a second pin of a state is not counted',
    breaks: 'a snapshot stays as it is when a large write is committed',
    file: 'store/pin-layers.ts',
    edits: [['    this.#size++\n    layer.pins++\n', '    this.#size++\n']],
  },
  {
    name: 'a closed layer is not merged into the older one',
    breaks: 'a snapshot stays as it is when a newer pin is closed',
    file: 'store/pin-layers.ts',
    edits: [['    older?.absorb(layer)\n', '']],
  },
  {
    name: 'a closed layer forgets the keys that were deleted',
    breaks: 'a snapshot stays as it is when a newer pin is closed',
    file: 'store/pin-layers.ts',
    edits: [['    for (const [key, ordinal] of newer.#deleted) this.keepKey(key, ordinal)\n', '']],
  },
  {
    name: 'a closed layer forgets its index values',
    breaks: 'the indexes of a snapshot stay as they are when a newer pin is closed (I9)',
    file: 'store/store.ts',
    edits: [
      [
        'if (this.#pins.close(layer) && older !== undefined)\n        for (const index of this.#indexes.all) index.merge?.(layer, older)',
        'this.#pins.close(layer)\n      older?.held',
      ],
    ],
  },
  {
    name: 'the replay of a scope reads a store that is being written',
    breaks: 'a replay has the state before a write that is not committed (I5)',
    file: 'subscriptions/scope-filter.ts',
    edits: [['new ScopeScan(this.#indexer.store.readers', 'new ScopeScan(this.#indexer.store']],
  },
  {
    name: 'the replay of all objects reads a store that is being written',
    breaks: 'a replay has the state before a write that is not committed (I5)',
    file: 'subscriptions/feed.ts',
    edits: [['scan ?? indexer.store.readers.pin()', 'scan ?? indexer.store.pin()']],
  },
  {
    name: 'a controller runs keys while changes are being queued',
    breaks: 'a run has the last state of a deleted object',
    file: 'subscriptions/controller.ts',
    edits: [[' && !isBehind && !hasQueued\n', ' && !hasQueued\n']],
    onlyBy: {
      test: 'unit/informer/large-writes.test.ts',
      named: 'is not read by a controller before it is queued for it',
    },
  },
  {
    name: 'the next attempt does not wait for the sink',
    breaks: 'a sink has one writer, whose calls do not overlap',
    file: 'reflector/reflector.ts',
    edits: [['      if (this.#sink.accepting !== undefined) await attempt.pauseWatchdog(this.#sink.accepting)\n', '']],
  },
  {
    name: 'a resync reads a store that is being written',
    breaks: 'a resync has the state before a write that is not committed',
    file: 'subscriptions/scope-filter.ts',
    edits: [
      [
        '        const entry = store.readers.entryOf(key)\n        if',
        '        const entry = store.entryOf(key)\n        if',
      ],
    ],
    onlyBy: {
      test: 'unit/informer/large-writes.test.ts',
      named: 'is not delivered by a resync before it is committed',
    },
  },
  {
    name: 'a commit that a replay shows is queued too',
    breaks: 'a subscription that begins while a commit is routed gets each change once (I3, I13)',
    file: 'subscriptions/feed.ts',
    edits: [[' || this.#commits <= this.#replayedCommit', '']],
  },
  {
    name: 'a subscription by a new index misses the write that is in progress',
    breaks: 'a subscription that begins during a write gets its changes (I5)',
    file: 'subscriptions/change-router.ts',
    edits: [['          for (const group of feeds.values()) pass(commit, i, group, touched)\n', '']],
  },
  {
    name: 'a commit counts as routed when its routing begins',
    breaks: 'the version of a subscription does not overtake its changes',
    file: 'informer/commit-routing.ts',
    edits: [
      ['    try {\n      if (!hasOpened) yield*', '    feedHost.markRouted()\n    try {\n      if (!hasOpened) yield*'],
    ],
  },
  {
    name: 'an idle subscription has the version of a commit that is being routed',
    breaks: 'the version of a subscription does not overtake its changes',
    file: 'subscriptions/feed.ts',
    edits: [['return this.isBehind ? this.host.routed.position : this.host.position', 'return this.host.position']],
  },
  {
    name: 'a subscription that replays a commit waits for its routing',
    breaks: 'a replay has the version of the store that it shows',
    file: 'subscriptions/feed.ts',
    edits: [[' < this.#commits && !this.#isReplayed', ' < this.#commits']],
  },
  {
    name: 'a resync overtakes a commit that is being routed',
    breaks: 'a resync delivers no object that was not delivered before',
    file: 'subscriptions/resync.ts',
    edits: [['while (feed.hasQueued || feed.isBehind)', 'while (feed.hasQueued)']],
  },
  {
    name: 'a drain does not wait for a commit that is being routed',
    breaks: 'a drain delivers all changes that readers saw before it',
    file: 'subscriptions/feed.ts',
    edits: [[' || (isLast && this.isBehind)', '']],
  },
  {
    name: 'a drain skips the commit that is being routed',
    breaks: 'a drain delivers all changes that readers saw before it',
    file: 'subscriptions/feed.ts',
    edits: [['this.#acceptance.end(isBehind ? this.#commits : undefined)', 'this.#acceptance.end()']],
  },
  {
    name: 'waits for the store wait for the routing',
    breaks: 'a wait ends when readers see its version',
    file: 'informer/commit-routing.ts',
    edits: [['    this.#checkWaits(runner)\n    try {', '    try {']],
  },
  {
    name: 'idle subscriptions are not checked after a commit was routed',
    breaks: 'a wait of an idle subscription ends when the commit was routed',
    file: 'informer/commit-routing.ts',
    edits: [['this.#routed(runner, commit, true)', "this.#routed(runner, commit, commit.origin === 'relist')"]],
  },
  {
    name: 'a controller is not woken after a commit was routed',
    breaks: 'a controller runs the keys that waited for the routing of a commit',
    file: 'subscriptions/feed.ts',
    edits: [['    this.reader.wake() // A controller', '    // A controller']],
  },
  {
    name: 'a batch is taken while it is being merged',
    breaks: 'a batch is delivered as a whole',
    file: 'subscriptions/feed.ts',
    edits: [['!(this.#queue.isEmpty || this.#queue.isBusy)', '!this.#queue.isEmpty']],
  },
  {
    name: 'a queue that is merged in steps stays busy',
    breaks: 'a batch can be taken after its last step',
    file: 'queue/change-queue.ts',
    edits: [['    this.#isBusy = false\n    return true', '    return true']],
  },
  {
    name: 'the objects of a removed source are deleted during a write',
    breaks: 'one transaction writes at a time',
    kind: 'set',
    file: 'store/partition.ts',
    edits: [
      [
        "return this.#writer.write('drop', this.size, () => this.#removeAll('relist'))",
        "this.#writer.runExclusive('drop', () => finish(this.#removeAll('relist')))",
      ],
    ],
  },
  {
    name: 'a source that replaces a removed one is read before the objects of that are deleted',
    breaks: 'a removed source leaves nothing in the store',
    file: 'informer/informer-sources.ts',
    edits: [
      ['if (this.#isStarted && !this.#removing.has(name)) runner.start()', 'if (this.#isStarted) runner.start()'],
    ],
    onlyBy: {
      test: 'unit/informer/large-writes.test.ts',
      named: 'are removed in slices themselves, and readers see all of their objects until the commit',
    },
  },
  {
    name: 'a large write of another source is visible before its commit',
    breaks: 'readers see nothing of a write before its commit (I8)',
    kind: 'set',
    file: 'store/store-writer.ts',
    edits: [['    this.store.hold()\n', '    if (!this.ownership.isShared) this.store.hold()\n']],
  },
]

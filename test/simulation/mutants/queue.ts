import type { Mutant } from './mutate.js'

/** The laws of the DeltaFIFO, and of merging. */
export const mutantsOfQueue: readonly Mutant[] = [
  {
    name: 'a queued key loses its place',
    breaks: 'keys leave in the order in which they entered; a queued key keeps its place (law 1)',
    file: 'queue/delta-fifo.ts',
    edits: [
      [
        'else queued.push({ change, batch })',
        'else {\n        this.#queued.delete(change.key)\n        this.#queued.set(change.key, [...queued, { change, batch }])\n      }',
      ],
    ],
  },
  {
    name: 'what was popped is drained again',
    breaks: 'a key is in the queue exactly when it has deltas (law 1)',
    file: 'queue/delta-fifo.ts',
    edits: [
      ['const changes = isMerging ? taken.changes : this.#takeQueued(taken.changes)', 'const { changes } = taken'],
    ],
  },
  {
    name: 'detection ignores the queue',
    breaks: 'a queued key that is not in a list is deleted (law 3)',
    file: 'queue/delta-fifo.ts',
    edits: [['    for (const key of this.#queued.keys()) keys.add(key)\n', '']],
  },
  {
    name: 'detection ignores what is merged',
    breaks: 'a queued key that is not in a list is deleted, after an overflow too (law 3)',
    file: 'queue/delta-fifo.ts',
    edits: [['    for (const key of this.#queue.mergedKeys()) keys.add(key)\n', '']],
  },
  {
    name: 'detection ignores what was taken',
    breaks: 'a key of the batch last taken that is not in a list is deleted (law 3)',
    file: 'queue/delta-fifo.ts',
    edits: [['    for (const key of this.#taken.keys()) keys.add(key)\n', '']],
  },
  {
    name: 'what was taken is forgotten at once',
    breaks: 'deltas are relative to what the consumer will hold (law 3)',
    file: 'queue/delta-fifo.ts',
    edits: [
      ['return taken === undefined ? this.#known?.get(key) : objectAfter(taken)', 'return this.#known?.get(key)'],
    ],
  },
  {
    name: 'detection ignores the store',
    breaks: 'a known key that is not in a list is deleted (law 3)',
    file: 'queue/delta-fifo.ts',
    edits: [['    for (const key of this.#known?.keys() ?? []) keys.add(key)\n', '']],
  },
  {
    name: 'a delete of an unknown key is emitted',
    breaks: 'a delete of an unknown key is not emitted (law 7)',
    file: 'queue/delta-fifo.ts',
    edits: [
      [
        "if (queued?.type !== 'delete' || !this.#queue.isMerging || this.#delivered(key) === undefined) return undefined",
        "if (queued?.type !== 'delete') return undefined",
      ],
    ],
  },
  {
    name: 'the queue is synced as soon as it has the list',
    breaks: 'hasSynced is true only after the whole first list was processed (law 7)',
    file: 'queue/delta-fifo.ts',
    edits: [["return this.#firstList === 'processed'", "return this.#firstList !== 'awaited'"]],
  },
  {
    name: 'the queue has no end',
    breaks: '"every" holds at most its capacity (law 8, I12)',
    file: 'queue/change-queue.ts',
    edits: [['return this.#count <= this.#capacity', 'return true']],
  },
  {
    name: 'a merged drain keeps what it returned',
    breaks: 'a change that a reader has taken is not emitted again (law 4)',
    file: 'queue/change-queue.ts',
    edits: [
      [
        'resultOf(this.#listed(merged))\n    this.clear()',
        'resultOf(this.#listed(merged))\n    this.#hasBoundary = false',
      ],
    ],
  },
  {
    name: 'an overflow forgets what was queued',
    breaks: 'an overflow merges and loses nothing (law 8)',
    file: 'queue/change-queue.ts',
    edits: [
      [
        'const left = removed === 0 ? changes : changes.filter(isQueued)',
        'const left = changes.filter(isQueued).slice(1)',
      ],
    ],
  },
  {
    name: 'an add and its delete are emitted as a delete',
    breaks: 'absent, put, delete is nothing (law 4)',
    file: 'queue/change.ts',
    edits: [["if (change.type === 'delete') return undefined\n", "if (change.type === 'delete') return change\n"]],
  },
  {
    name: 'a delete and an add are emitted as an update',
    breaks: 'present, delete, put is a delete, then an add (law 4)',
    file: 'queue/change.ts',
    edits: [
      [
        "return [pending, { ...change, type: 'add', previous: undefined }]",
        "return { ...change, type: 'update', previous: pending.previous }",
      ],
    ],
  },
  {
    name: 'a merged update has the wrong previous',
    breaks: 'previous is the object that was delivered last (law 4)',
    file: 'queue/change.ts',
    edits: [['return { ...change, previous: pending.previous }', 'return change']],
  },
  {
    name: 'a delete that cancels an add loses the delete before it',
    breaks: 'present, delete, put, delete is a delete (law 4)',
    file: 'queue/change.ts',
    edits: [
      [
        "if (change.type === 'delete') return { ...change, previous: gone.previous }",
        "if (change.type === 'delete') return undefined as unknown as Pending<T>",
      ],
    ],
  },
  {
    name: 'a delete by hand has no last state',
    breaks: 'the object of a delete is its last state, if the source reports it (law 5)',
    file: 'queue/delta-fifo.ts',
    edits: [
      [
        "{ type: 'delete', key, object: object ?? previous, previous,",
        "{ type: 'delete', key, object: previous, previous,",
      ],
    ],
  },
  {
    name: 'two deletes keep the object of the first',
    breaks: 'merging two deletes keeps the more informative object (law 5)',
    file: 'queue/change.ts',
    edits: [
      [
        '{ ...second, previous: first.previous, version',
        '{ ...second, object: first.object, previous: first.previous, version',
      ],
    ],
  },
  {
    name: 'a second delete improves nothing',
    breaks: 'merging two deletes keeps the more informative object (law 5)',
    file: 'queue/delta-fifo.ts',
    edits: [['      object: object ?? queued.object,\n', '      object: queued.object,\n']],
  },
  {
    name: 'a second delete keeps the earlier version',
    breaks: 'merging two deletes keeps the later version (law 5)',
    file: 'queue/delta-fifo.ts',
    edits: [['      object: object ?? queued.object,\n      version,\n', '      object: object ?? queued.object,\n']],
  },
  {
    name: 'two deletes keep the earlier version',
    breaks: 'merging two deletes keeps the later version (law 5)',
    file: 'queue/change.ts',
    edits: [['version: second.version ?? first.version', 'version: first.version']],
  },
  {
    name: 'a subscription has no capacity',
    breaks: '`every` holds at most its capacity (law 8, I12)',
    file: 'subscriptions/feed.ts',
    edits: [['new ChangeQueue(options,', 'new ChangeQueue({ delivery: options.delivery },']],
  },
  {
    name: 'an overflow changes nothing',
    breaks: '`every` holds at most its capacity (law 8, I12)',
    file: 'subscriptions/feed.ts',
    edits: [
      [
        "if (this.#onOverflow === 'coalesce') yield* this.#queue.coalesceInSteps()\n      else this.#overflow()",
        'void this.#onOverflow',
      ],
    ],
  },
  {
    name: 'an overflow does not close a subscription with onOverflow: "fail"',
    breaks: 'onOverflow: "fail" closes (law 8, I12)',
    file: 'subscriptions/feed.ts',
    edits: [
      [
        "if (this.#onOverflow === 'coalesce') yield* this.#queue.coalesceInSteps()\n      else this.#overflow()",
        'yield* this.#queue.coalesceInSteps()',
      ],
    ],
  },
  {
    name: 'changes that wait behind a handler have no limit',
    breaks: '`every` holds at most its capacity (law 8, I12)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [['this.#blockedCount < this.#options.capacity ? this.#dequeue() : undefined', 'this.#dequeue()']],
  },
  {
    name: 'nothing is merged behind a handler',
    breaks: '`latest` holds two notes of a key at most (I12)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [
      [
        'if (!this.#options.wantsLatest || first === undefined) {',
        'if (first === undefined || this.#options.capacity > 0) {',
      ],
    ],
    maxSchedules: 5_000,
  },
  {
    name: 'an `every` subscription always merges',
    breaks: '`every` emits each batch as it came (law 4)',
    file: 'subscriptions/feed.ts',
    edits: [['    if (!fits) {', "    if (!fits || this.#onOverflow === 'coalesce') {"]],
  },
  {
    name: 'a queue that overflowed merges without end',
    breaks: '`every` behaves as `latest` only until it has caught up (law 8)',
    file: 'queue/change-queue.ts',
    edits: [
      [
        "this.#merged = this.#delivery === 'latest' ? new OrderedTable() : undefined",
        'this.#merged &&= new OrderedTable()',
      ],
    ],
    onlyBy: {
      test: 'unit/queue/delta-fifo.test.ts',
      named: 'beyond its capacity every behaves as latest until it has caught up',
    },
  },
  {
    name: 'repeated changes count',
    breaks: 'replay and resync do not count (law 8)',
    file: 'queue/change-queue.ts',
    edits: [['if (!isResync(changes)) this.#count += changes.length', 'this.#count += changes.length']],
  },
  {
    name: 'a merged key loses its place',
    breaks: 'a queued key keeps its place (law 1)',
    file: 'queue/change-queue.ts',
    edits: [
      [
        '        merged.set(change.key, pending)',
        '        merged.delete(change.key)\n        merged.set(change.key, pending)',
      ],
    ],
  },
  {
    name: 'pop returns the changes of a key backwards',
    breaks: 'the states of a key never go back (I3)',
    file: 'queue/delta-fifo.ts',
    edits: [['return places.map(({ change }) => change)', 'return places.map(({ change }) => change).toReversed()']],
  },
  {
    name: 'what stands between two boundaries has a version',
    breaks: 'the version of a reader never goes back (I10)',
    file: 'queue/delta-fifo.ts',
    edits: [
      [
        'version: isBoundary ? version : undefined, isBoundary }',
        'version: isBoundary ? version : changes.at(-1)?.version, isBoundary }',
      ],
    ],
  },
  {
    name: 'the version of the queue is that of its reader',
    breaks: 'the version of a sink is that of the last accepted batch (I10)',
    file: 'queue/delta-fifo.ts',
    edits: [
      [
        '  get version(): Version | undefined {\n    return this.#queue.version\n  }',
        '  #takenAt: Version | undefined\n  get version(): Version | undefined {\n    return this.#takenAt\n  }',
      ],
      [
        '    if (this.#queue.isEmpty) this.#firstListKeys.clear()\n',
        '    if (this.#queue.isEmpty) this.#firstListKeys.clear()\n    if (isBoundary) this.#takenAt = version\n',
      ],
    ],
  },
  {
    name: 'the queue never says that it has synced',
    breaks: 'hasSynced is true after the whole first list was processed (law 7)',
    file: 'queue/delta-fifo.ts',
    edits: [
      ["return this.#firstList === 'processed'", "return this.#firstList === 'processed' && this.#queue.keys < 0"],
    ],
  },
  {
    name: 'every drain of the queue is a boundary',
    breaks: 'a drain to a boundary yields a state that the source had (law 2)',
    file: 'queue/delta-fifo.ts',
    edits: [['taken.version, nextSequence >= this.#aheadOf)', 'taken.version, nextSequence >= 0)']],
  },
  {
    name: 'a list is queued as many batches',
    breaks: 'every batch, and every list, is atomic (law 2)',
    file: 'queue/delta-fifo.ts',
    edits: [
      [
        '    const fits = this.#queue.push(changes, version)\n    const batch = this.#queue.newest\n    if (batch !== undefined) this.#enter(batch)\n',
        '    let fits = changes.length > 0 || this.#queue.push(changes, version)\n    for (const change of changes) {\n      fits = this.#queue.push([change], version)\n      const batch = this.#queue.newest\n      if (batch !== undefined) this.#enter(batch)\n    }\n',
      ],
    ],
  },
  {
    name: 'a queue takes no bookmarks',
    breaks: 'bookmarks go through the queue like every batch (law 6)',
    file: 'queue/change-queue.ts',
    edits: [
      ['    const batch = { changes,', '    if (changes.length === 0) return true\n    const batch = { changes,'],
    ],
  },
]

import type { Mutant } from './mutate.js'

/** Notifications of followers, and their times. */
export const mutantsOfFollowers: readonly Mutant[] = [
  {
    name: 'a handler that is busy holds up the others',
    breaks: 'a stuck handler slows no other follower (I12)',
    file: 'subscriptions/serial-delivery.ts',
    edits: [
      [
        '        void working.then(() => this.#deliver(slice, current, at + 1, slice.isOverAfterCall()))\n',
        `        Object(this.#feed.host).isHeldUp = true
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
    name: 'the router keeps the key or value of a subscription that was closed',
    breaks: 'closed subscriptions leave no memory behind',
    file: 'subscriptions/change-router.ts',
    onlyBy: { test: 'unit/subscriptions/change-router.test.ts', named: 'and are closed leave no memory behind' },
    edits: [['  if (group === feed || (group instanceof Set && group.size === 0)) groups.delete(id)\n', '']],
  },
  {
    name: 'a late subscription misses the next change',
    breaks: 'late join: no gap (I13)',
    file: 'subscriptions/feed.ts',
    edits: [['this.#replayedCommit = indexer.writer.commits', 'this.#replayedCommit = indexer.writer.commits + 1']],
  },
  {
    name: 'a late subscription begins without the store',
    breaks: 'late join: the store as adds first (I13)',
    file: 'subscriptions/feed.ts',
    edits: [
      [
        '    if (host.isFilled) this.startReplay()\n',
        '    if (host.isFilled) this.#replayedCommit = host.indexer.writer.commits\n',
      ],
    ],
  },
  {
    name: "a subscription's version is ahead of its handler",
    breaks: 'everything up to the version has been handled (I7)',
    file: 'subscriptions/feed.ts',
    edits: [['if (!this.#isIdle || this.#closed !== undefined) return', 'if (this.#closed !== undefined) return']],
  },
  {
    name: "the first change after bookmarks turns a subscription's version back",
    breaks: "a subscription's version never goes back (law 6)",
    file: 'subscriptions/feed.ts',
    edits: [['    if (isAccepted) this.#progress.handled = this.#position\n', '    if (isAccepted);\n']],
  },
  {
    name: "a drain during a large commit turns a subscription's version back",
    breaks: "a subscription's version never goes back (law 6)",
    file: 'subscriptions/feed.ts',
    edits: [
      ['    this.#progress.handled = this.#position\n    this.#acceptance.position', '    this.#acceptance.position'],
    ],
  },
  {
    name: 'a subscription has no version after a batch that was handled after the close',
    breaks: "a subscription's version never goes back (law 6)",
    file: 'subscriptions/feed.ts',
    edits: [['isSynced, this.#closed !== undefined || this.hasQueued)', 'isSynced, this.hasQueued)']],
  },
  {
    name: 'a batch is split on its way to a subscription',
    breaks: 'a batch is delivered whole (I8)',
    file: 'subscriptions/feed.ts',
    edits: [
      [
        'const fits = yield* this.#queue.pushInSteps(changes, position, clock.now(), source, shownHistory)',
        'const parts = changes.length === 0 ? [changes] : changes.map((change) => [change])\n    const fits = parts.map((part) => this.#queue.push(part, position, clock.now(), source, shownHistory)).every(Boolean)',
      ],
    ],
  },
  {
    name: 'a replay that is over keeps the store as it was',
    breaks: 'a pin is closed when it was read (I12)',
    file: 'subscriptions/replay.ts',
    edits: [['    if (isLast) this.close()\n', '']],
  },
  {
    name: 'a subscription that is closed before its replay keeps the store as it was',
    breaks: 'a pin is closed with what reads it (I12, I15)',
    file: 'subscriptions/feed.ts',
    edits: [['    this.#replay?.close()\n', '']],
  },
  {
    name: 'a snapshot that is disposed of keeps the store as it was',
    breaks: 'a snapshot costs nothing once it is disposed of (I12)',
    file: 'store/snapshot.ts',
    edits: [['    this.#pin.close()\n', '']],
  },
  {
    name: 'the delete of an object that leaves a scope is not emitted',
    breaks: 'an object that leaves the scope is a delete (I5)',
    file: 'subscriptions/scope-filter.ts',
    edits: [
      [
        "return decided.type === 'delete' ? decided : leaving(decided)",
        "return decided.type === 'delete' ? decided : undefined",
      ],
    ],
  },
  {
    name: 'an object that keeps its index value stays in scope, whatever the filter returns',
    breaks: 'an object that leaves the scope is a delete (I5)',
    file: 'subscriptions/scope-filter.ts',
    edits: [['this.where.length === 1 && filter === undefined', 'this.where.length === 1']],
    onlyBy: { test: 'unit/subscriptions/feed.test.ts', named: 'filter of objects with one value' },
  },
  {
    name: 'an object whose scope a later change decides leaves the scope',
    breaks: 'a subscription that began during a large write receives one update of a key that changed twice (I4)',
    file: 'subscriptions/scope-filter.ts',
    edits: [
      [
        'if (position < 0 && this.#isReplaced(change)) return undefined',
        'if (position < 0 && this.#isReplaced(change)) return false',
      ],
    ],
    onlyBy: { test: 'unit/informer/large-writes.test.ts', named: 'that changes a key twice is one update of it' },
  },
  {
    name: 'a handler that throws is not reported',
    breaks: 'a failing handler is reported once (I14)',
    file: 'subscriptions/handler-caller.ts',
    edits: [
      ['      timed?.dispose()\n      this.#report(change, error)\n', '      timed?.dispose()\n      void error\n'],
    ],
  },
  {
    name: 'a handler that rejects is not reported',
    breaks: 'a failing handler is reported once (I14)',
    file: 'subscriptions/handler-caller.ts',
    edits: [
      [
        "          this.#report(change, error)\n          ended?.('failure', error)\n",
        "          ended?.('failure', error)\n",
      ],
    ],
  },
  {
    name: 'a handler is called after its subscription was closed',
    breaks: 'after stop() no callback begins (I15)',
    file: 'subscriptions/serial-delivery.ts',
    edits: [['while (batch !== undefined && this.#feed.closed === undefined) {', 'while (batch !== undefined) {']],
  },
  {
    name: 'one key too many at a time',
    breaks: 'at most `concurrency` keys at a time (I12)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [['this.#blocked.size < this.#options.concurrency', 'this.#blocked.size <= this.#options.concurrency']],
  },
  {
    name: 'a key is handled twice at once',
    breaks: 'the changes of a key one after the other (I4)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [
      [
        '    const blocked = this.#blocked.get(change.key)\n    if (blocked !== undefined) {\n      this.#block(blocked, unhandled)\n      return\n    }\n',
        '',
      ],
    ],
  },
  {
    name: 'the timer of slow handlers is never stopped',
    breaks: 'after stop() there is no timer (I15)',
    file: 'subscriptions/slow-handler-monitor.ts',
    edits: [
      ['      if (this.#running.size === 0) this.#endTimer()\n', ''],
      ['    this.#timer?.abort(ABORTED)\n', ''],
    ],
  },
  {
    name: 'a resync is added while something waits',
    breaks: 'a resync has the object that was emitted last as its previous (I4), and never piles up (I12)',
    file: 'subscriptions/resync.ts',
    edits: [['      while (feed.hasQueued || feed.isBehind) await clock.sleep(periodMs / parts, signal)\n', '']],
  },
  {
    name: 'a resync waits behind the handler of its key',
    breaks: 'a key that waits for its handler is not emitted again (I4)',
    file: 'subscriptions/concurrent-delivery.ts',
    edits: [["first !== undefined && unhandled.change.origin === 'resync'", 'false']],
    maxSchedules: 5_000,
  },
  {
    name: 'a resync is emitted as a change',
    breaks: 'a resync emits objects that were emitted before (I4)',
    file: 'subscriptions/resync.ts',
    edits: [
      [
        "type: 'update', key, object, previous: object, version: undefined",
        "type: 'update', key, object, previous: { ...object }, version: undefined",
      ],
    ],
  },
  {
    name: 'a resync continues after the end',
    breaks: 'after stop() there is no timer (I15)',
    file: 'subscriptions/feed.ts',
    edits: [
      ['    this.#waits?.rejectAll(reason)\n    this.#acceptance?.end()\n', '    this.#waits?.rejectAll(reason)\n'],
    ],
  },
  {
    name: 'a resync leaves out its last part',
    breaks: 'a resync emits everything in scope',
    file: 'subscriptions/resync.ts',
    edits: [
      ['for (let part = 0; part < parts; part++) {', 'for (let part = 0; part < Math.max(1, parts - 1); part++) {'],
    ],
  },
  {
    name: 'a resync takes ten periods',
    breaks: 'a resync emits everything in scope once a period',
    file: 'subscriptions/resync.ts',
    edits: [
      ["  await feed.synced('resync', { signal })\n", "  await feed.synced('resync', { signal })\n  periodMs *= 10\n"],
    ],
  },
  {
    name: 'a stop drops what waits',
    breaks: 'waiting changes are handled before a stop, within drainMs (I5)',
    file: 'informer/informer.ts',
    edits: [['    if (drainMs !== undefined && this.#feedHost.isFilled) await this.#drain(drainMs)\n', '']],
  },
  {
    name: 'a stop waits without a limit for waiting changes',
    breaks: 'stop({ drainMs }) settles in time (I15)',
    file: 'informer/informer.ts',
    edits: [['    await settleWithin(ms, drain(), this.#clock)\n', '    await drain()\n']],
  },
  {
    name: 'the source continues while a stop drains',
    breaks: 'nothing is taken from the source after stop() (I15)',
    file: 'informer/informer.ts',
    edits: [
      ['    const ended = this.#sources.end(error)\n', ''],
      ['    const closing =', '    const ended = this.#sources.end(error)\n    const closing ='],
    ],
  },
  {
    name: 'a wait leaves its timer behind',
    breaks: 'after stop() there is no timer (I15)',
    file: 'util/deadline.ts',
    edits: [['      timer?.abort(ABORTED)\n      return true', '      return true']],
  },
  {
    name: 'a wait across epochs never ends',
    breaks: 'a wait for another epoch rejects once the head of the source shows its epoch',
    file: 'subscriptions/version-waiters.ts',
    edits: [['this.#onOtherEpoch(settle, mark, error)', 'void mark']],
  },
  {
    name: 'synced before the first list',
    breaks: 'synced only after the whole first list (I8)',
    file: 'util/latch.ts',
    edits: [
      ['if (this.#isOpen) settle.resolve()\n', 'if (this.#isOpen || this.#waiting.size === 0) settle.resolve()\n'],
    ],
  },
  {
    name: 'a slow handler is not reported',
    breaks: 'a handler that never settles is reported (I14)',
    file: 'subscriptions/slow-handler-monitor.ts',
    edits: [['          this.#report(running.key, ms)\n', '']],
  },
  {
    name: 'a slow handler is reported again and again',
    breaks: 'a handler that never settles is reported once (I14)',
    file: 'subscriptions/slow-handler-monitor.ts',
    edits: [['          running.isReported = true\n', '']],
  },
]

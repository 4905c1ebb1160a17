import type { Kind } from '../runner/schedule.js'
import type { Mutant } from './mutate.js'

const kind: Kind = 'set'

/** Several sources, one store: whose a key is, what comes and goes. */
export const mutantsOfSets: readonly Mutant[] = [
  {
    name: "a removed source's keys stay",
    breaks: 'what a source gave goes with it',
    kind,
    file: 'store/transaction.ts',
    edits: [['if (isOwn && isGone(key))', 'if (isOwn && isGone(key) && this.#version !== undefined)']],
  },
  {
    name: "a removed source's invalid keys stay invalid",
    breaks: 'what a source gave goes with it',
    kind,
    file: 'store/transaction.ts',
    edits: [['if (isGone(key)) this.markValid', 'if (isGone(key) && this.#version !== undefined) this.markValid']],
  },
  {
    name: 'nobody hears that a source was removed',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'informer/source-set.ts',
    edits: [['    this.#notify((listener) => listener.removed(name))\n', '']],
  },
  {
    name: 'nobody hears that a source was added',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'informer/source-set.ts',
    edits: [['    this.#notify((listener) => listener.added(name, source))\n', '']],
  },
  {
    name: 'what a set tells is told twice',
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
    name: 'a removed source is read on',
    breaks: 'nothing of a removed source comes any more',
    kind,
    file: 'informer/source-runner.ts',
    edits: [['    this.#ending.abort(ABORTED)\n', '']],
  },
  {
    name: 'who waits for a removed source waits on',
    breaks: 'who waits for a source that is removed is rejected',
    kind,
    file: 'informer/source-runner.ts',
    edits: [['    this.waiters.rejectAll(reason)\n', '']],
  },
  {
    name: 'a relist waits for a removed source',
    breaks: 'who waits for a source that is removed is not left alone',
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
    name: 'a relist deletes what another source gave',
    breaks: 'a relist of one source touches nothing of the others',
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
    name: 'a place in the store stays its first owner’s',
    breaks: 'a key is its source’s, wherever it is in the store',
    kind,
    file: 'store/key-ownership.ts',
    edits: [['    this.#owners[ordinal] = owner\n  }\n\n', '    this.#owners[ordinal] ??= owner\n  }\n\n']],
  },
  {
    name: 'a key is taken over by whoever writes it last',
    breaks: 'a key that two sources give stays with the first',
    kind,
    file: 'store/transaction.ts',
    edits: [["    if (this.#isForeign(arrived.key, 'put', ordinal)) return\n", '']],
  },
  {
    name: 'a key is deleted by whoever has no such key',
    breaks: 'a key that two sources give stays with the first',
    kind,
    file: 'store/transaction.ts',
    edits: [["    if (this.#isForeign(key, 'delete', this.#writer.store.ordinalOf(key))) return\n", '']],
  },
  {
    name: 'a list takes over what another source gave meanwhile',
    breaks: 'a key that two sources give stays with the first',
    kind,
    file: 'store/list-writer.ts',
    edits: [['    this.#dropForeign()\n', '']],
  },
  {
    name: 'a key that was given up is nobody’s',
    breaks: 'a key that the first source gives up goes to the next',
    kind,
    file: 'store/key-ownership.ts',
    edits: [['    return claimants\n  }\n}', '    return claimants?.size === -1 ? claimants : undefined\n  }\n}']],
  },
  {
    name: 'a subscription has handled what the store has',
    breaks: 'a wait of a subscription is for what it has handled (I7)',
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
    name: 'a follower of a set holds whatever comes',
    breaks: 'queues are bounded (I12)',
    kind,
    file: 'subscriptions/feed.ts',
    edits: [['new ChangeQueue(options)', 'new ChangeQueue(host.isOfSet ? { delivery: options.delivery } : options)']],
  },
  {
    name: 'a follower of a set that falls behind is told only what comes next',
    breaks: 'what waited is one batch, merged (I12)',
    kind,
    file: 'subscriptions/feed.ts',
    edits: [
      [
        "this.#onOverflow === 'coalesce') this.#queue.coalesce()",
        "this.#onOverflow === 'coalesce') source ?? this.#queue.coalesce()",
      ],
    ],
  },
  {
    name: 'what came of one source is told before what came of another',
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
    name: 'merged, the changes of sources come in turns',
    breaks: 'a key that waits keeps its place',
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
    breaks: 'a batch names its source, except where several are merged',
    kind,
    file: 'subscriptions/feed.ts',
    edits: [['version: undefined, source, isSynced }', 'version: undefined, source: undefined, isSynced }']],
  },
  {
    name: 'a busy handler holds up those who follow another source',
    breaks: 'a stuck handler slows nobody (I12)',
    kind,
    file: 'subscriptions/serial-delivery.ts',
    edits: [
      [
        '        if (working !== undefined) await working\n',
        `        if (working !== undefined) {
          Object(this.#feed.host).isHeldUp = this.#feed.host.isOfSet
          await working
          Object(this.#feed.host).isHeldUp = false
        }
`,
      ],
      [
        '    for (let batch = this.#dequeue(); batch !== undefined; batch = this.#dequeue()) {\n',
        `    while (Object(this.#feed.host).isHeldUp) await clock.sleep(1)
    for (let batch = this.#dequeue(); batch !== undefined; batch = this.#dequeue()) {
`,
      ],
    ],
  },
  {
    name: 'what goes with its source is told as known',
    breaks: 'a deletion that no source told is unknown (I4)',
    kind,
    file: 'store/transaction.ts',
    edits: [
      [
        "if (isOwn && isGone(key)) this.remove(key, 'unknown')",
        "if (isOwn && isGone(key)) this.remove(key, this.#version === undefined ? 'known' : 'unknown')",
      ],
    ],
  },
  {
    name: 'what a list of one of several sources lacked is told as known',
    breaks: 'a deletion that no source told is unknown (I4)',
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
    name: 'what one of several sources deletes is told as unknown',
    breaks: 'a deletion of which the source told is known (I4)',
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
    name: 'a list of one of several sources tells again what is equal',
    breaks: 'what did not change is not told (I3)',
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
    name: 'what is equal is a change in a part of a store',
    breaks: 'what did not change is not told (I3)',
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
    breaks: 'a batch names its source, except where several are merged',
    kind,
    file: 'queue/change-queue.ts',
    edits: [
      [
        'else if (this.#mergedFrom !== source) this.#mergedFrom = undefined',
        'else if (this.#mergedFrom === undefined) this.#mergedFrom = source',
      ],
    ],
  },
]

import type { Kind } from '../schedule.js'
import type { Mutant } from './mutate.js'

const kind: Kind = 'set'

/** Several sources, one store: whose a key is, what comes and goes. */
export const mutantsOfSets: readonly Mutant[] = [
  {
    name: "a removed source's keys stay",
    breaks: 'what a source gave goes with it',
    kind,
    file: 'indexer.ts',
    edits: [['    this.#deleteAll(commit, () => true)\n', '']],
  },
  {
    name: "a removed source's invalid keys stay invalid",
    breaks: 'what a source gave goes with it',
    kind,
    file: 'indexer.ts',
    edits: [
      [
        '    for (const key of part.invalid.keys()) this.#markValid(key, commit)\n    part.omitted.clear()\n    this.#deleteAll',
        '    part.omitted.clear()\n    this.#deleteAll',
      ],
    ],
  },
  {
    name: 'nobody hears that a source was removed',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'source-set.ts',
    edits: [['    this.#tell((listener) => listener.removed(name))\n', '']],
  },
  {
    name: 'nobody hears that a source was added',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'source-set.ts',
    edits: [['    this.#tell((listener) => listener.added(name, source))\n', '']],
  },
  {
    name: 'what a set tells is told twice',
    breaks: 'a set and its informers have the same sources',
    kind,
    file: 'source-set.ts',
    edits: [['next = this.#news.shift()) next()', 'next = this.#news.shift()) next(), next()']],
  },
  {
    name: 'a removed source is read on',
    breaks: 'nothing of a removed source comes any more',
    kind,
    file: 'mirrored-source.ts',
    edits: [['    this.#ending.abort(over)\n', '']],
  },
  {
    name: 'who waits for a removed source waits on',
    breaks: 'who waits for a source that is removed is rejected',
    kind,
    file: 'mirrored-source.ts',
    edits: [['    this.waiters.refuse(reason)\n', '']],
  },
  {
    name: 'a relist waits for a removed source',
    breaks: 'who waits for a source that is removed is not left alone',
    kind,
    file: 'informer.ts',
    edits: [
      ['mirror.listed > lists || this.#mirrors.get(name) !== mirror', 'mirror.listed > lists && name !== undefined'],
    ],
  },
  {
    name: 'synced before all sources are',
    breaks: 'synced means all (I8)',
    kind,
    file: 'informer.ts',
    edits: [
      [
        'Array.from(this.#mirrors.values()).every(({ isListed }) => isListed)',
        '(this.#mirrors.size === 0 || Array.from(this.#mirrors.values()).some(({ isListed }) => isListed))',
      ],
    ],
  },
  {
    name: 'a stopped informer follows its set',
    breaks: 'after stop() nothing is opened (I15)',
    kind,
    file: 'informer.ts',
    edits: [
      ['    this.#unfollow()\n', ''],
      ['      if (!this.#isStopped) act()\n', '      act()\n'],
    ],
  },
  {
    name: 'a relist deletes what another source gave',
    breaks: 'a relist of one source touches nothing of the others',
    kind,
    file: 'ownership.ts',
    edits: [
      ['return this.#owners[ordinal] === part', 'return part !== undefined && this.#owners[ordinal] !== undefined'],
    ],
  },
  {
    name: 'a place in the store stays its first owner’s',
    breaks: 'a key is its source’s, wherever it is in the store',
    kind,
    file: 'ownership.ts',
    edits: [['    this.#owners[ordinal] = part\n', '    this.#owners[ordinal] ??= part\n']],
  },
  {
    name: 'a key is taken over by whoever writes it last',
    breaks: 'a key that two sources give stays with the first',
    kind,
    file: 'indexer.ts',
    edits: [
      ["    if (this.#ownership !== undefined && this.#isForeign(arrived.key, 'put', ordinal, commit)) return\n", ''],
    ],
  },
  {
    name: 'a key is deleted by whoever has no such key',
    breaks: 'a key that two sources give stays with the first',
    kind,
    file: 'indexer.ts',
    edits: [["    if (this.#isForeign(key, 'delete', this.#store.ordinalOf(key), commit)) return\n", '']],
  },
  {
    name: 'a list takes over what another source gave meanwhile',
    breaks: 'a key that two sources give stays with the first',
    kind,
    file: 'indexer.ts',
    edits: [
      [
        'for (const keys of this.#ownership === undefined ? [] : [pending, bad])',
        'for (const keys of [] as (typeof pending)[])',
      ],
    ],
  },
  {
    name: 'a key that was given up is nobody’s',
    breaks: 'a key that the first source gives up goes to the next',
    kind,
    file: 'ownership.ts',
    edits: [['    return claimants\n  }\n}', '    return claimants?.size === -1 ? claimants : undefined\n  }\n}']],
  },
  {
    name: 'a subscription has handled what the store has',
    breaks: 'a wait of a subscription is for what it has handled (I7)',
    kind,
    file: 'feed.ts',
    edits: [["leave = this.#await(this.host.indexer.position ?? '0', settle)", 'settle.resolve()']],
  },
  {
    name: 'a merged batch names one of its sources',
    breaks: 'a batch names its source, except where several are merged',
    kind,
    file: 'delta-fifo.ts',
    edits: [
      [
        'else if (this.#mergedFrom !== source) this.#mergedFrom = undefined',
        'else if (this.#mergedFrom === undefined) this.#mergedFrom = source',
      ],
    ],
  },
]

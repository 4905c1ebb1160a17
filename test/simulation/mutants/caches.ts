import type { Mutant } from './mutate.js'

const kind = 'cache'
const restoration = 'reflector/warm-start.ts'
const sourceCache = 'informer/source-cache.ts'

/** Warm starts from a cache. */
export const mutantsOfCaches: readonly Mutant[] = [
  {
    name: 'hidden content is shown before the source confirms it',
    breaks: 'nothing of saved content is visible before the first batch confirms it (H2)',
    file: restoration,
    kind,
    edits: [['if (this.#warmStart?.servesStale !== true) return', 'if (this.#warmStart === undefined) return']],
  },
  {
    name: 'stale content counts as listed',
    breaks: 'stale content answers no wait and is not ready (H2)',
    file: 'informer/source-runner.ts',
    kind,
    edits: [['if (this.warmStart?.isCurrentWhenShown === true) this', 'if (this.warmStart !== undefined) this']],
  },
  {
    name: 'stale content is never confirmed',
    breaks: 'the first batch confirms stale content (H2)',
    file: 'informer/source-runner.ts',
    kind,
    edits: [['    if (this.isStale) {\n', '    if (this.isStale && this.isCleared) {\n']],
  },
  {
    name: 'an older batch confirms saved content',
    breaks: 'a first batch that is older than the content does not confirm it (H3)',
    file: restoration,
    onlyBy: {
      test: 'unit/warm-start.test.ts',
      named: 'a first batch that is older than the content confirms nothing',
    },
    edits: [['source.hasReached?.(version, saved) === true) return', 'source.hasReached !== undefined) return']],
  },
  {
    name: 'content that ends early is used',
    breaks: 'no object of incomplete content is visible (H4)',
    file: restoration,
    kind,
    edits: [['if (count !== size) throw', 'if (count > size) throw']],
  },
  {
    name: 'saved content stays open',
    breaks: 'the content is closed when it is not needed any more',
    file: restoration,
    kind,
    edits: [['if (saved !== undefined) this.#release(saved)', '']],
  },
  {
    name: 'the reading of saved content is aborted when it was opened',
    breaks: 'the signal of `open` stays valid until the content was read (H11)',
    file: restoration,
    kind,
    edits: [['?.open(this.#reading.signal,', '?.open(attempt.signal,']],
  },
  {
    name: 'a save begins in the middle of a large write',
    breaks: 'a save reads one version (H6)',
    file: sourceCache,
    kind,
    edits: [['while (part.isBusy) await part.idle()', '']],
  },
  {
    name: 'a save reads the version before a large write, and the objects after it',
    breaks: 'a save reads one version (H6)',
    file: sourceCache,
    kind,
    edits: [
      [
        '    // A write may begin before `idle` has resolved.\n',
        '    const { reached: version, proof } = this.#mirror\n',
      ],
      ['    const { reached: version, proof } = this.#mirror\n    // A write', '    // A write'],
    ],
  },
  {
    name: 'unconfirmed content and content of an ended history is saved',
    breaks: 'unconfirmed content is not saved (H6)',
    file: sourceCache,
    kind,
    edits: [
      ['const { reached: version, proof } = this.#mirror', 'const { part: { version }, proof } = this.#mirror'],
      ['return reached !== undefined && isWhole && (', 'return isWhole && ('],
    ],
  },
  {
    name: 'access loss keeps the saved content',
    breaks: 'after access was lost the saved content is removed (H10)',
    file: 'informer/source-runner.ts',
    kind,
    edits: [['    this.warmStart?.discard()\n', '']],
  },
  {
    name: 'the saved content is removed during a save',
    breaks: 'the content of a save in progress is removed, too (H10)',
    file: sourceCache,
    kind,
    edits: [['      await saving\n', '']],
  },
  {
    name: 'a failed save is reported each time',
    breaks: 'a save that fails is reported once (H7)',
    file: sourceCache,
    kind,
    edits: [['if (this.#failure === code) return', '']],
  },
  {
    name: 'content of another fingerprint is used',
    breaks: 'content of another selection is not used (H4)',
    file: 'informer/fingerprint.ts',
    kind,
    edits: [['source.selection ?? null', 'null']],
  },
  {
    name: 'a batch is applied after a handler of the saved objects stopped the informer',
    breaks: 'the store does not move after stop (I15)',
    file: 'reflector/reflector.ts',
    edits: [['    attempt.throwIfAborted()\n    if (isIncluded) {', '    if (isIncluded) {']],
    onlyBy: {
      test: 'unit/warm-start-caches.test.ts',
      named: 'nothing is applied after a handler of the saved objects has stopped the informer',
    },
  },
  {
    name: 'a save that hangs keeps the content of a source that refuses access',
    breaks: 'access loss ends a save in progress (H10)',
    file: sourceCache,
    edits: [['    this.#saves.abort(ABORTED)\n    this.#saves = new', '    this.#saves = new']],
    onlyBy: {
      test: 'unit/warm-start-caches.test.ts',
      named: 'access loss ends a save that hangs, and removes the saved content',
    },
  },
  {
    name: 'saved content is closed while objects are read from it',
    breaks: 'the content is closed when all objects are decoded (H13)',
    file: restoration,
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'stop keeps all objects readable' },
    edits: [['      await this.#reads\n', '']],
  },
  {
    name: 'a list is compared with a store that is not filled',
    breaks: 'a list begins when all objects are decoded (H13)',
    file: 'reflector/reflector.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'a list that is due begins when all are decoded' },
    edits: [['    if (this.#restoration.filling !== undefined) await attempt.race(this.#restoration.filling)\n', '']],
  },
  {
    name: 'readers see the store while it is filled',
    breaks: 'packed content is visible until the store contains all of it (H12)',
    file: 'store/store.ts',
    kind,
    edits: [['    if (this.#base !== undefined) return\n', '']],
  },
  {
    name: 'an index is read from the store while that is filled',
    breaks: 'packed content answers the reads of indexes (H12)',
    file: 'store/indexes/hash-index.ts',
    onlyBy: { test: 'property/packed-base.property.test.ts', named: 'a store that serves packed content' },
    edits: [["    if (packed?.kind === 'hash') return packed.ordinalsWith(value)\n", '']],
  },
  {
    name: 'an object is decoded again when the store is filled',
    breaks: 'an object that was read is the stored object (H12)',
    file: 'store/packed/packed-base.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'is decoded when it is first read' },
    edits: [['return this.#entries[ordinal] ?? this.#decode(ordinal)', 'return this.#decode(ordinal)']],
  },
  {
    name: 'the array of all objects is that of the time before the store was filled',
    breaks: 'decoding does not count as a change (H13)',
    file: 'store/store.ts',
    onlyBy: { test: 'property/warm-start.property.test.ts', named: 'whatever happens to processes, cache and source' },
    edits: [['      this.#list = isFilled ? this.#held?.sharedList : undefined\n', '']],
  },
  {
    name: 'a write that was called before content is shown runs before the store is filled',
    breaks: 'writes begin when all objects are decoded (H13)',
    file: 'store/store-writer.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'are restored first; an index that is added meanwhile' },
    edits: [['return this.#queue.runNext(perform)', 'return this.#queue.run(perform)']],
  },
  {
    name: 'pins of a filled store share the layer of a pin of the empty one',
    breaks: 'a snapshot has all objects of its state (S14)',
    file: 'store/pin-layers.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'a snapshot of the empty store stays empty' },
    edits: [[' && newest.limit === limit', '']],
  },
  {
    name: 'the first list counts as saved content that could not be shown',
    breaks: 'damaged content costs one list (H4)',
    file: sourceCache,
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'that cannot be decoded cost one list' },
    edits: [
      ['served?.shown.catch(() => {\n      this.#restoring = undefined\n    })', 'served?.shown.catch(() => {})'],
    ],
  },
  {
    name: 'a mirror that misses a damaged object is saved',
    breaks: 'nothing is saved before the list that restores a damaged object (H14)',
    file: sourceCache,
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'a mirror that misses an object of packed content' },
    edits: [['      this.#isIncomplete = true\n', '']],
  },
  {
    name: 'stop ends the decoding of saved objects',
    breaks: 'after stop the rest is decoded (H13)',
    file: 'store/store-writer.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'stop keeps all objects readable' },
    edits: [
      ['    this.#required++\n    const perform', '    const perform'],
      ['meanwhile.\n        this.#required--\n', 'meanwhile.\n'],
    ],
  },
  {
    name: 'a filtered key that a later list lacks is saved',
    breaks: 'filtered keys are saved as they are (H5)',
    file: 'store/list-writer.ts',
    onlyBy: { test: 'unit/warm-start-saves.test.ts', named: 'filtered keys that a later list lacks are not saved' },
    edits: [['transaction.markValid(key)\n      partition.filtered.clear()', 'transaction.markValid(key)']],
  },
  {
    name: 'a write behind decoding that ends after stop is performed',
    breaks: 'after stop the rest is decoded, and nothing else is written (H13)',
    file: 'store/store-writer.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'stop refuses the batch and the new index that wait' },
    edits: [
      ['meanwhile.\n        this.#required--\n', 'meanwhile.\n'],
      ['this.#queue.runNext(perform)', 'this.#queue.runNext(perform).finally(() => void this.#required--)'],
    ],
  },
  {
    name: 'an index that throws ends the decoding of saved objects',
    breaks: 'readers see all saved objects until the list that follows (H14)',
    file: 'store/store.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'an index that throws hides no object' },
    edits: [
      [
        '      for (let ordinal = this.#entries.length; ordinal < ordinalLimit; ordinal++) this.#fillAt(ordinal, base, missing)\n',
        '',
      ],
    ],
  },
  {
    name: 'an object that cannot be decoded is not reported',
    breaks: 'it costs one warning and one list (H14)',
    file: 'store/packed/packed-base.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'is absent if it cannot be decoded' },
    edits: [['      if (isFirst) this.#options.onDamage(error)\n', '']],
  },
  {
    name: 'saved values of an index with another function are used',
    breaks: 'saved index values are those that the functions return now (H15)',
    file: 'store/packed/packed-indexes.ts',
    onlyBy: { test: 'unit/warm-start-base.test.ts', named: 'if an index is of another kind' },
    edits: [['packed.signature !== signature || ', '']],
  },
]

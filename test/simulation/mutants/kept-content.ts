import type { Mutant } from './mutate.js'

const kind = 'cache'
const keptBase = 'store/packed/kept-base.ts'
const keptIndexes = 'store/packed/kept-indexes.ts'
const store = 'store/store.ts'

/** Stores that read packed content in place. */
export const mutantsOfKeptContent: readonly Mutant[] = [
  {
    name: 'an object of packed content is read although it was overwritten',
    breaks: 'a written entry takes the place of the packed one (H16)',
    file: keptBase,
    kind,
    edits: [
      [
        '    if (!this.has(ordinal)) return false\n    this.#mark(ordinal)\n',
        '    if (!this.has(ordinal)) return false\n',
      ],
    ],
  },
  {
    name: 'pins lose the objects of packed content that are overwritten',
    breaks: 'a snapshot keeps its state (H16)',
    file: keptBase,
    kind,
    edits: [
      ['return layer !== undefined && (this.#overwrittenIn', 'return layer === undefined && (this.#overwrittenIn'],
    ],
  },
  {
    name: 'pins see the objects of packed content that were deleted before',
    breaks: 'a snapshot has its state (H16)',
    file: 'store/pin-layers.ts',
    onlyBy: {
      test: 'unit/store/packed/kept-packed-content.test.ts',
      named: 'is in snapshots as it was, if keys were deleted between them',
    },
    edits: [['    if (layer !== undefined) layer.isWritten = true\n    return layer', '    return layer']],
  },
  {
    name: 'a list does not delete objects of packed content',
    breaks: 'a list is compared with the packed entries (H17)',
    file: 'store/list-writer.ts',
    kind,
    edits: [['    this.#start = writer.store.ordinalStart\n', '    this.#start = 0\n']],
  },
  {
    name: 'lost access leaves the objects of packed content',
    breaks: 'lost access deletes the packed entries too (H17)',
    file: 'store/transaction.ts',
    onlyBy: { test: 'unit/store/packed/kept-packed-content.test.ts', named: 'is deleted and closed if access is lost' },
    edits: [
      [
        'let ordinal = store.ordinalStart; ordinal < store.ordinalLimit',
        'let ordinal = 0; ordinal < store.ordinalLimit',
      ],
    ],
  },
  {
    name: 'the initial replay has no objects of packed content',
    breaks: 'handlers receive the packed entries as initial adds (H16)',
    file: 'subscriptions/replay.ts',
    kind,
    edits: [['      this.#start = objects.ordinalStart\n', '']],
  },
  {
    name: 'an index over packed content has the values of written entries only',
    breaks: 'indexes have the values of the packed entries (H16)',
    file: 'store/indexes/hash-index.ts',
    kind,
    edits: [
      [
        'return [...base.ordinalsWith(value), ...this.#ordinalsOf(this.#visible(value))]',
        'return this.#ordinalsOf(this.#visible(value))',
      ],
    ],
  },
  {
    name: 'an order over packed content is not merged with the written entries',
    breaks: 'an ordered index merges packed and written entries (H16)',
    file: keptIndexes,
    kind,
    edits: [['left > 0 && sign * this.#compare(element, other.value) > 0', 'left < 0']],
  },
  {
    name: 'a saved mirror lacks the objects of packed content',
    breaks: 'a mirror over packed content is saved with all objects (H18)',
    file: 'store/pinned-partition.ts',
    onlyBy: { test: 'unit/store/packed/kept-packed-content.test.ts', named: 'is saved again with all objects' },
    edits: [['let ordinal = this.#pin.ordinalStart; ordinal', 'let ordinal = 0; ordinal']],
  },
  {
    name: 'an audit misses objects of packed content that were deleted',
    breaks: 'audits compare the packed entries too (H17)',
    file: 'store/partition.ts',
    onlyBy: {
      test: 'unit/store/packed/kept-packed-content.test.ts',
      named: 'is audited: a deletion that the source did not report',
    },
    edits: [['for (let ordinal = store.ordinalStart; ordinal', 'for (let ordinal = 0; ordinal']],
  },
  {
    name: 'a rollback does not restore objects of packed content',
    breaks: 'a batch is written as a whole or not at all (H16)',
    file: store,
    onlyBy: { test: 'property/packed-base.property.test.ts', named: 'a store over packed content that is kept' },
    edits: [['      this.#kept?.restore(ordinal)\n', '']],
  },
  {
    name: 'a key that was written and deleted is absent in an older pin',
    breaks: 'a snapshot keeps its state (H16)',
    file: 'store/pin.ts',
    onlyBy: {
      test: 'unit/store/packed/kept-packed-content.test.ts',
      named: 'is in snapshots as it was, if keys were deleted between them',
    },
    edits: [
      [
        '      if (this.entryAt(before)?.key === key) return before\n      break\n',
        '      return this.entryAt(before)?.key === key ? before : undefined\n',
      ],
    ],
  },
  {
    name: 'an object that a reader holds is decoded again',
    breaks: 'an object is the same as long as a reader holds it (H16)',
    file: 'store/packed/decoded-entries.ts',
    onlyBy: { test: 'unit/store/packed/kept-packed-content.test.ts', named: 'returns the object that is in use' },
    edits: [['known !== undefined && object !== undefined', 'known === undefined && object !== undefined']],
  },
  {
    name: 'packed content is closed while the store reads it in place',
    breaks: 'the content is open until the informer stops (H18)',
    file: 'reflector/warm-start.ts',
    onlyBy: { test: 'unit/store/packed/kept-packed-content.test.ts', named: 'is decoded only as far as it is read' },
    edits: [
      [
        'if (served.isKept) this.#reads = Promise.race([filling, this.#stopped.promise])',
        'if (served.isKept) this.#reads = undefined',
      ],
    ],
  },
  {
    name: 'packed content stays open although no object of it is left',
    breaks: 'the content is closed when each object was overwritten (H18)',
    file: store,
    onlyBy: {
      test: 'unit/store/packed/kept-packed-content.test.ts',
      named: 'is closed when each of its objects has changed',
    },
    edits: [['    if (this.#kept?.size === 0 && this.#pins.size === 0) this.#dropKept(this.#kept)\n', '']],
  },
]

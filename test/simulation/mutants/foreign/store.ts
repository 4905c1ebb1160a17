import type { Mutant } from '../mutate.js'

/** The store, its parts and its indexes. */
export const foreignMutantsOfStore: readonly Mutant[] = [
  {
    // While a snapshot (or pin) is open a key is deleted and a new key is added in its freed place, then the new
    // key is read from the snapshot.
    name: 'a snapshot answers for a later key with the object whose place it took',
    breaks: 'A snapshot stays as it is, whatever is written later: a key that came later is not in it.',
    file: 'store/pin.ts',
    edits: [['this.entryAt(ordinal)?.key === key) return', 'this.entryAt(ordinal) !== undefined) return']],
  },
  {
    // A batch deletes a key and throws before its commit; then a new key is added, and overwrites the object that
    // had been restored.
    name: 'the undo of a delete leaves the place of the key among the free ones',
    breaks: 'A step of the store that throws before its commit is undone: entries keep their own places.',
    file: 'store/store.ts',
    edits: [
      [
        '      this.#free.pop()\n      this.#ordinals.add(before.key, ordinal)',
        '      this.#ordinals.add(before.key, ordinal)',
      ],
    ],
  },
  {
    // Two subscriptions use the same index in `where`, one of them is closed, and then an object in the scope of
    // the other changes.
    name: 'the end of one tracker stops the tracking of an index for all others',
    breaks: 'A subscription with `where` receives every change of its scope, whichever others end.',
    file: 'store/declared-indexes.ts',
    edits: [['const users = before + added', 'const users = Math.min(1, before + added)']],
  },
  {
    // Over several sources the first has a key only as an invalid object, the second has the same key, then the
    // first deletes it.
    name: 'a source that drops an invalid key does not release it to the next source',
    kind: 'set',
    breaks: 'A key that two sources have stays with the first only until that one releases it.',
    file: 'store/transaction.ts',
    edits: [
      [
        '    this.#setValidity(key, undefined)\n    this.#writer.written(key)\n    this.#released.push(key)',
        '    this.#setValidity(key, undefined)\n    this.#writer.written(key)',
      ],
    ],
  },
  {
    // A polling source sends one batch with a replace that leaves a known key out and an invalid event that names
    // that key.
    name: 'a replace in a batch deletes keys that the same batch names as invalid',
    breaks: 'An object that becomes invalid keeps its last good state; an invalid key counts as listed.',
    file: 'store/transaction.ts',
    edits: [['const keys = new Set(keep)', 'const keys = new Set<string>()']],
  },
  {
    // Replaces a mutant that left out clearing the invalid keys. Invalid keys are set by a commit, and a first list is the
    // first commit, so there was nothing to clear, and these lines are gone. Objects that `prepare` filters out are
    // recorded at once.
    name: 'a first list that is abandoned leaves the keys of filtered objects',
    breaks: 'A list that breaks in the middle leaves nothing behind; it is read again from its beginning.',
    file: 'store/list-writer.ts',
    edits: [['    this.#partition.filtered.clear()\n', '']],
  },
  {
    // A key is invalid without a version, a batch that repairs it throws before its commit, and the batch is taken
    // again.
    name: 'the undo of a map drops keys whose value was undefined',
    breaks:
      'A step that throws is undone, invalid keys included: an object that is good again leaves informer.invalid.',
    file: 'store/undo-journal.ts',
    edits: [
      [
        'this.#journal.record(key, this.has(key) ? (this.get(key) as V) : ABSENT)',
        'this.#journal.record(key, this.get(key) ?? ABSENT)',
      ],
    ],
  },
  {
    // Of several objects with one value one is updated to null, and is then updated or deleted while another has
    // taken its place in the bucket.
    name: 'an object that loses its value in an equal index keeps its old place there',
    breaks: 'Every index equals the recomputed one.',
    file: 'store/indexes/hash-index.ts',
    edits: [
      [
        '    if (value === undefined) {\n      this.#places.set(2 * ordinal, 0)\n      return\n    }',
        '    if (value === undefined) return',
      ],
    ],
  },
  {
    // An ordered index of more than 512 objects was read, all objects of a middle chunk (about 256 neighbours) are
    // deleted, then a range is read.
    name: 'a sorted index keeps a chunk that has become empty',
    breaks: 'An ordered index equals the recomputed one: a range has all objects within its bounds.',
    file: 'store/indexes/slot-order.ts',
    edits: [['    this.#firsts.splice(chunk, 1)\n    this.#chunks.splice(chunk, 1)\n    this.#freeIds.push(id)\n', '']],
  },
  {
    // The function of a compound index returns a tuple with null or undefined in it, and the index is read by a
    // prefix or counted.
    name: 'a compound index takes a tuple with null in it without that component',
    breaks: 'A tuple with null or undefined in it leaves the object out of a compound index.',
    file: 'store/indexes/index-builder.ts',
    edits: [
      [
        '    if (scalar === undefined) return undefined\n    tuple.push(scalar)',
        '    if (scalar === undefined) continue\n    tuple.push(scalar)',
      ],
    ],
  },
  {
    // A snapshot is taken between two pages of the first list, and read.
    name: 'a snapshot taken during the first list shows the part that has come',
    breaks: 'No read sees part of a list.',
    file: 'store/indexer.ts',
    edits: [['this.store.readers.pin()', 'this.store.pin()']],
  },
  {
    // An index has a bigint beyond 2^53 that a number can hold exactly (2n ** 60n), and is queried by that number,
    // or the other way round.
    name: 'a lookup does not match a large bigint with the number of its value',
    breaks: 'In every index a number and the bigint of its value are the same.',
    file: 'store/indexes/scalar.ts',
    edits: [
      [
        'return Number.isFinite(number) && BigInt(number) === key ? number : key',
        'return Number.isSafeInteger(number) ? number : key',
      ],
    ],
  },
  {
    // An object has a byte view (a small Node Buffer) that changes to another of equal length in the same
    // ArrayBuffer at another offset.
    name: 'a comparison of byte views reads the second at the offset of the first',
    breaks: 'Typed arrays are compared by content: a changed object is an update for every handler.',
    file: 'store/structural-equal.ts',
    edits: [
      ['new Uint8Array(b.buffer, b.byteOffset, b.byteLength)', 'new Uint8Array(b.buffer, a.byteOffset, b.byteLength)'],
    ],
  },
  {
    // list() of a snapshot is called before it is disposed of; afterwards the store is written, or the snapshot is
    // read.
    name: 'a snapshot whose list() was read is not released when it is disposed of',
    breaks: 'A snapshot costs nothing once it is disposed of, and is not readable any more.',
    file: 'store/pin.ts',
    edits: [
      [
        '    this.#list = undefined\n    if (layer !== undefined) this.#close(layer)',
        '    if (layer !== undefined && this.#list === undefined) this.#close(layer)\n    this.#list = undefined',
      ],
    ],
  },
  {
    // With freeze on, a handler pushes into an empty array of an object that it received.
    name: 'an empty array inside an object is not frozen',
    breaks: 'If objects are frozen, a handler that changes an object gets a TypeError.',
    file: 'store/deep-freeze.ts',
    edits: [['if (Array.isArray(value)) return true', 'if (Array.isArray(value)) return value.length > 0']],
  },
]

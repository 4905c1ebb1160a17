import type { Mutant } from './mutate.js'

/** Objects that arrive, and how the store takes them. */
export const mutantsOfStore: readonly Mutant[] = [
  {
    name: 'the schema is called, and its result is thrown away',
    breaks: 'the store holds the object that the schema returns',
    file: 'informer/standard-schema.ts',
    edits: [['return result.value\n', 'return value as Output\n']],
  },
  {
    name: 'an object that the schema refuses is stored',
    breaks: 'an object that the schema refuses is invalid, and the last valid one stays',
    file: 'informer/standard-schema.ts',
    edits: [
      [
        'if (result.issues === undefined) return result.value\n',
        'return (result as { value: Output }).value ?? (value as Output)\n',
      ],
    ],
  },
  {
    name: 'an object that the schema refuses is left out',
    breaks: 'an object that the schema refuses is invalid, and the last valid one stays',
    file: 'store/ingest.ts',
    edits: [['        return this.invalid(arrived.key, error, partition)\n', '        return FILTERED\n']],
  },
  {
    name: 'a shared subtree takes a hidden property from an object',
    breaks: 'with intern, an object with properties that are not enumerable is kept as it is',
    file: 'store/interner.ts',
    edits: [['Reflect.ownKeys(object).length !== names.length', 'names.length < 0']],
  },
  {
    name: 'shared subtrees are written into the object that arrived',
    breaks: 'with intern, an object that arrives is not modified: it may be frozen',
    file: 'store/interner.ts',
    edits: [['const copy: Members = { ...object }', 'const copy = object as Members']],
    onlyBy: { test: 'unit/interner.test.ts', named: 'is not modified' },
  },
  {
    name: 'subtrees with the same hash are shared, whatever the names of their properties',
    breaks: 'with intern, only equal subtrees are shared',
    file: 'store/interner.ts',
    edits: [['others[at] !== name || ', '']],
    onlyBy: { test: 'unit/interner.test.ts', named: 'a name of the same hash' },
  },
  {
    name: 'arrays with the same hash are shared, whatever their values',
    breaks: 'with intern, only equal subtrees are shared',
    file: 'store/interner.ts',
    edits: [['if (!Object.is(known[at], values[at])) return false', 'if (at < 0) return false']],
    onlyBy: { test: 'unit/interner.test.ts', named: 'an array value of the same hash' },
  },
  {
    name: 'whole objects are shared, too',
    breaks: 'an object that the equals function calls different is an update, even if its content is the same',
    file: 'store/interner.ts',
    edits: [
      [
        "    if (typeof object !== 'object' || object === null) return object\n    this.#valuesLeft = MAX_VALUES\n",
        "    if (typeof object !== 'object' || object === null) return object\n    this.#valuesLeft = MAX_VALUES\n    if (this.#valuesLeft > 0) return this.#visitObject(object, 0) as T\n",
      ],
    ],
    onlyBy: { test: 'unit/interner.test.ts', named: 'the equals function calls different' },
  },
  {
    name: 'a table of shared subtrees keeps them without a limit',
    breaks: 'with intern, a subtree that no stored object contains is collected',
    file: 'store/interner.ts',
    edits: [['new WeakRef(shared)', '({ deref: () => shared }) as WeakRef<object>']],
    onlyBy: { test: 'unit/interner.test.ts', named: 'lets a subtree be collected' },
  },
  {
    name: 'a relist drops the last good state of an invalid object',
    breaks: 'the last good object of an invalid key stays (C30)',
    file: 'store/list-writer.ts',
    edits: [["onInvalid !== 'omit') this", "onInvalid === 'omit') this"]],
    onlyBy: { test: 'unit/informer-invalid.test.ts', named: 'after its last good state in the same relist' },
  },
  {
    name: 'a relist makes an invalid object valid with its last good state',
    breaks: 'an `invalid` event counts as applied (C29)',
    file: 'store/list-writer.ts',
    edits: [['      if (!this.#invalid.has(key)) transaction', '      transaction']],
    onlyBy: { test: 'unit/informer-invalid.test.ts', named: 'after its last good state in the same relist' },
  },
  {
    name: 'a relist keeps an object that it has deleted and then names as invalid',
    breaks: 'an object that a list lacks is deleted (I2)',
    file: 'store/list-writer.ts',
    edits: [["else if (event.type === 'put' && this.#deleted.size", 'else if (this.#deleted.size']],
    onlyBy: { test: 'unit/informer-invalid.test.ts', named: 'after its delete in the same relist' },
  },
  {
    name: 'a relist detects no deletions',
    breaks: 'an object that a list lacks is deleted (I2)',
    file: 'store/list-writer.ts',
    edits: [['        transaction.remove(key)\n', '        void key\n']],
  },
  {
    name: 'the first list can be read before it is whole',
    breaks: 'no read sees a part of a list (I8)',
    file: 'store/list-writer.ts',
    edits: [['    writer.store.isVisible = false\n', '']],
  },
  {
    name: 'a first list that breaks off stays in the store',
    breaks: 'a list that breaks off leaves nothing behind (I8)',
    file: 'store/list-writer.ts',
    edits: [['    store.clear()\n', '']],
  },
  {
    name: 'a list is remembered by its first page',
    breaks: 'later events of a list override earlier ones',
    file: 'store/list-writer.ts',
    edits: [
      [
        'if (ordinal !== undefined) this.#listed[ordinal - this.#start] = this.#deleted.has(key) ? 0 : 1',
        'if (ordinal !== undefined) this.#listed[ordinal - this.#start] = 1',
      ],
    ],
  },
  {
    name: 'versions are trusted across epochs',
    breaks: 'after a change of epoch contents are compared',
    file: 'store/ingest.ts',
    edits: [['if (!isOther && !ignoreVersions && current.version', 'if (!isOther && current.version']],
  },
  {
    name: 'another identity is an update',
    breaks: 'another uid under the same key is a delete, then an add (I4)',
    file: 'store/ingest.ts',
    edits: [
      ['return a.uid !== undefined && b.uid !== undefined && a.uid !== b.uid', 'return false && a.uid !== b.uid'],
    ],
  },
  {
    name: 'an invalid object stays invalid',
    breaks: 'a later good event clears it',
    file: 'store/transaction.ts',
    edits: [['    if (invalid.size > 0 || this.#validity !== undefined) this.markValid(arrived.key)\n', '']],
  },
  {
    name: 'a deleted key leaves a gap in the table of ordinals, behind which others are not found',
    breaks: 'a stored key is found',
    file: 'util/hash-table.ts',
    edits: [['places[next] !== 0; next = ', 'places[next] !== 0 && at < 0; next = ']],
    onlyBy: { test: 'unit/ordinal-table.test.ts', named: 'finds each of 4 000 keys' },
  },
  {
    name: 'a key that is deleted while the table of ordinals is divided is found again',
    breaks: 'a deleted key is absent',
    file: 'store/ordinal-table.ts',
    edits: [['this.#small?.delete(key) === true', '(this.#large === undefined && this.#small?.delete(key) === true)']],
    onlyBy: { test: 'unit/ordinal-table.test.ts', named: 'finds each of 4 000 keys' },
  },
  {
    name: 'a key that is deleted from a large table counts',
    breaks: 'the size is the number of objects',
    file: 'store/ordinal-table.ts',
    edits: [['if (wasSmall || wasLarge) this', 'if (wasSmall) this']],
    onlyBy: { test: 'unit/ordinal-table.test.ts', named: 'finds each of 4 000 keys' },
  },
  {
    name: 'a cleared table of ordinals is divided still',
    breaks: 'a cleared store has no keys',
    file: 'store/ordinal-table.ts',
    edits: [['    this.#left = undefined\n    this.#large = undefined\n', '    this.#left = undefined\n']],
    onlyBy: { test: 'unit/ordinal-table.test.ts', named: 'has no keys after it was cleared' },
  },
  {
    name: 'two that prepare an ordered index sort it at the same time',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'util/shared-steps.ts',
    edits: [['if (this.#current?.state !== state) this', 'this']],
    onlyBy: { test: 'unit/sorted-index.test.ts', named: 'a large index that is prepared twice at the same time' },
  },
  {
    name: 'an ordered index whose sort was broken off by a write is not sorted again',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'util/shared-steps.ts',
    edits: [['this.#current?.state !== state', 'this.#current === undefined']],
    onlyBy: { test: 'property/sorted-index.property.test.ts', named: 'over thousands of objects, in many chunks' },
  },
  {
    name: 'two keys with the same hash are one',
    breaks: 'each key has its own object',
    file: 'util/hash-table.ts',
    edits: [[' && this.#isAt(number, key)', '']],
    onlyBy: { test: 'unit/ordinal-table.test.ts', named: 'compares the keys themselves' },
  },
  {
    name: 'an equal index keeps the old value',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/hash-index.ts',
    edits: [['    if (old !== undefined) this.remove(old, this.#positionAt(ordinal))\n', '']],
  },
  {
    name: 'a multi-value index keeps the old values',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/multi-index.ts',
    edits: [['    this.delete(ordinal)\n    this.#first = grown', '    this.#first = grown']],
  },
  {
    name: 'an index loses what it moves',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/hash-index.ts',
    edits: [['    this.moved(ordinal, bucket, position)\n', '']],
  },
  {
    name: 'a sorted index keeps the old value',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/sorted-tuples.ts',
    edits: [['    this.delete(slot)\n', '']],
  },
  {
    name: 'a sorted index searches a chunk by an element that was removed',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/sorted-tuples.ts',
    edits: [['    this.#firsts[chunk] = this.#slots[start] ?? 0\n', '']],
    onlyBy: {
      test: 'unit/sorted-index.test.ts',
      named: '5 000 objects in random order stay in order through 5 000 changes',
    },
  },
  {
    name: 'a sorted index compares the keys of tuples that became longer before their components',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/sorted-tuples.ts',
    edits: [['else if (k === 1) this.#ranks.dropSecond()', '']],
    onlyBy: {
      test: 'unit/sorted-index.test.ts',
      named: 'tuples that become longer stay in order in a large index',
    },
  },
  {
    name: 'a sorted index compares strings that are equal at their beginnings as equal',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/slot-ranks.ts',
    edits: [['(isAscii && text.length <= end ? 0 : 1)', '0']],
    onlyBy: {
      test: 'unit/sorted-index.test.ts',
      named: 'stay in order through 3 000 writes',
    },
  },
  {
    name: 'a sorted index is prepared without what was written between the steps',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'store/indexes/sorted-tuples.ts',
    edits: [['if (this.isSorted || this.#writes !== writes) break', 'if (this.isSorted) break']],
    onlyBy: {
      test: 'property/sorted-index.property.test.ts',
      named: 'after the last step of its preparation, an index contains what was written between the steps',
    },
  },
  {
    name: 'an index keeps the Date of the caller',
    breaks: 'an index keeps its own copy of a Date (I9)',
    file: 'store/indexes/index-builder.ts',
    edits: [['if (isScalar(value)) return copyScalar(value)\n', 'if (isScalar(value)) return value\n']],
  },
  {
    name: '`where` keeps the Date of the caller',
    breaks: 'a scope keeps its own copy of a Date (I5)',
    file: 'subscriptions/subscription-types.ts',
    edits: [['named.push([index, copyOf(value)])', 'named.push([index, value])']],
  },
  {
    name: 'a number and a bigint of one value are two keys',
    breaks: 'one equality for the replay and the router (I5)',
    file: 'store/indexes/scalar.ts',
    edits: [["  if (typeof key !== 'bigint') return key\n", '  return key\n']],
  },
  {
    name: 'a snapshot forgets what is deleted',
    breaks: 'a snapshot stays as it is',
    file: 'store/store.ts',
    edits: [
      [
        '    if (this.#pins.size > 0) this.#copyToPins(ordinal)\n    this.#list = undefined\n    this.#journal.record(ordinal, entry)\n',
        '    this.#list = undefined\n    this.#journal.record(ordinal, entry)\n',
      ],
    ],
  },
  {
    name: 'a step that throws is not undone',
    breaks: 'a step that throws before its commit is undone',
    file: 'store/transaction.ts',
    edits: [
      ['for (const each of this.#undoables) each.rollback()', 'for (const each of this.#undoables) each.commit()'],
    ],
  },
  {
    name: 'an undone step leaves the indexes as they are',
    breaks: 'a step that throws before its commit is undone, indexes too (I9)',
    file: 'store/store.ts',
    edits: [
      [
        '    this.#list = undefined\n    this.#indexes.rebuild(this.#entries)\n  }\n\n  /** @throws',
        '    this.#list = undefined\n  }\n\n  /** @throws',
      ],
    ],
  },
  {
    name: 'the first write of a step is undone first',
    breaks: 'a step that throws before its commit is undone, of each key the last write first',
    file: 'store/undo-journal.ts',
    edits: [['for (let i = places.length - 1; i >= 0; i--)', 'for (let i = 0; i < places.length; i++)']],
  },
  {
    name: 'an equal object is emitted as an update',
    breaks: 'nothing is emitted twice (I3, I13)',
    file: 'store/transaction.ts',
    edits: [['if (ordinal !== undefined && current?.object === entry.object && !isOther) {', 'if (ordinal === -1) {']],
  },
  {
    name: 'every final state is known',
    breaks: 'a deletion by a list has an unknown final state (I4)',
    file: 'store/transaction.ts',
    edits: [['origin: this.#origin, finalState } as const', "origin: this.#origin, finalState: 'known' } as const"]],
  },
  {
    name: 'no final state is known',
    breaks: 'a deletion that the source reported has a known final state (I4)',
    file: 'store/transaction.ts',
    edits: [['origin: this.#origin, finalState } as const', "origin: this.#origin, finalState: 'unknown' } as const"]],
  },
]

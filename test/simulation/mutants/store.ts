import type { Mutant } from './mutate.js'

/** What arrives, and what the store makes of it. */
export const mutantsOfStore: readonly Mutant[] = [
  {
    name: 'the schema is asked, and what it gives is thrown away',
    breaks: 'the store holds what the schema makes of an object',
    file: 'schema.ts',
    edits: [['return result.value\n', 'return value as Output\n']],
  },
  {
    name: 'what the schema refuses is stored',
    breaks: 'what the schema refuses is invalid, and the last good object stays',
    file: 'schema.ts',
    edits: [
      [
        'if (result.issues === undefined) return result.value\n',
        'return (result as { value: Output }).value ?? (value as Output)\n',
      ],
    ],
  },
  {
    name: 'an object that the schema refuses is left out',
    breaks: 'what the schema refuses is invalid, and the last good object stays',
    file: 'intake.ts',
    edits: [['        return invalid(arrived.key, error)\n', '        return OMITTED\n']],
  },
  {
    name: 'a relist detects no deletions',
    breaks: 'what is not in a list is deleted (I2)',
    file: 'replacement.ts',
    edits: [['      this.#eachUnlisted((key) => writer.remove(key, undefined, step))\n', '']],
  },
  {
    name: 'the first list can be read before it is whole',
    breaks: 'no read sees a part of a list (I8)',
    file: 'replacement.ts',
    edits: [['  store.isVisible = false\n', '']],
  },
  {
    name: 'a first list that breaks off stays in the store',
    breaks: 'a list that breaks off leaves nothing behind (I8)',
    file: 'replacement.ts',
    edits: [['      store.clear()\n', '']],
  },
  {
    name: 'a list is remembered by its first page',
    breaks: 'later events of a list override earlier ones',
    file: 'replacement.ts',
    edits: [
      [
        "if (ordinal !== undefined) this.#listed[ordinal] = event.type === 'delete' ? 0 : 1",
        'if (ordinal !== undefined) this.#listed[ordinal] = 1',
      ],
    ],
  },
  {
    name: 'versions are trusted across epochs',
    breaks: 'after a change of epoch contents are compared',
    file: 'intake.ts',
    edits: [['if (!isOther && !ignoreVersions && current.version', 'if (!isOther && current.version']],
  },
  {
    name: 'another identity is an update',
    breaks: 'another uid under the same key is a delete, then an add (I4)',
    file: 'intake.ts',
    edits: [
      ['return a.uid !== undefined && b.uid !== undefined && a.uid !== b.uid', 'return false && a.uid !== b.uid'],
    ],
  },
  {
    name: 'an invalid object stays invalid',
    breaks: 'a later good event clears it',
    file: 'store-writer.ts',
    edits: [['    if (this.invalid.size > 0) this.markValid(arrived.key, step)\n', '']],
  },
  {
    name: 'an equal index keeps the old value',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'hash-index.ts',
    edits: [['      this.remove(old, this.#positions.get(ordinal))\n', '']],
  },
  {
    name: 'a multi-value index keeps the old values',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'hash-index.ts',
    edits: [['    this.#removeFrom(old)\n', '']],
  },
  {
    name: 'an index loses what it moves',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'hash-index.ts',
    edits: [['    this.moved(ordinal, bucket, position)\n', '']],
  },
  {
    name: 'a sorted index keeps the old value',
    breaks: 'every index equals the recomputed one (I9)',
    file: 'sorted-index.ts',
    edits: [['    if (old !== undefined) this.#remove(old, ordinal)\n', '']],
  },
  {
    name: 'a snapshot forgets what is deleted',
    breaks: 'a snapshot stays as it is',
    file: 'store.ts',
    edits: [
      [
        '    if (this.#pins.size > 0) this.#keepForPins(ordinal)\n    this.#list = undefined\n    for (const index of this.#indexes) index.delete',
        '    this.#list = undefined\n    for (const index of this.#indexes) index.delete',
      ],
    ],
  },
  {
    name: 'what is equal is told as an update',
    breaks: 'nothing is told twice (I3, I13)',
    file: 'store-writer.ts',
    edits: [['if (ordinal !== undefined && current?.object === entry.object && !isOther) {', 'if (ordinal === -1) {']],
  },
  {
    name: 'every final state is known',
    breaks: 'what only a list lacks has an unknown final state (I4)',
    file: 'store-writer.ts',
    edits: [
      [
        '    const { version, origin, finalState } = step\n',
        "    const { version, origin } = step\n    const finalState = 'known'\n",
      ],
    ],
  },
  {
    name: 'no final state is known',
    breaks: 'the final state of what the source deleted is known (I4)',
    file: 'store-writer.ts',
    edits: [
      [
        '    const { version, origin, finalState } = step\n',
        "    const { version, origin } = step\n    const finalState = 'unknown'\n",
      ],
    ],
  },
]

import { expect, test } from 'vitest'
import { KeyMarks } from '../../../src/store/key-marks.js'

test('marked keys: those with an ordinal of the store, and others', () => {
  const marks = new KeyMarks(2)
  marks.add('a', 0)
  marks.add('b', 1)
  marks.add('x', undefined)
  marks.add('later', 2)
  expect([marks.hasOrdinal(0), marks.hasOrdinal(1), marks.hasOrdinal(2)]).toEqual([true, true, false])
  expect(['a', 'x', 'later'].map((key) => marks.hasOther(key))).toEqual([false, true, true])
  marks.delete('a', 0)
  marks.delete('x', undefined)
  expect([marks.hasOrdinal(0), marks.hasOrdinal(1), marks.hasOther('x')]).toEqual([false, true, false])
})

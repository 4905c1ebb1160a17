import { describe, expect, test } from 'vitest'
import { UndoableMap, UndoJournal } from '../../../src/store/undo-journal.js'

describe('a journal', () => {
  test('[S7] a rollback restores overwritten values, the last write first', () => {
    const journal = new UndoJournal<string, number>()
    journal.record('outside of a step', 0)
    journal.begin()
    journal.record('a', 1)
    journal.record('a', 2)
    const restored: [string, number][] = []
    expect(journal.rollback((place, before) => restored.push([place, before]))).toBe(true)
    expect(restored).toEqual([
      ['a', 2],
      ['a', 1],
    ])
  })

  test('a rollback of 10 000 writes restores all of them, the last write first, and the next transaction starts empty', () => {
    const journal = new UndoJournal<number, string>()
    const restored: number[] = []
    for (const writes of [10_000, 3]) {
      restored.length = 0
      journal.begin()
      for (let i = 0; i < writes; i++) journal.record(i, `${i}`)
      expect(journal.rollback((place, before) => void (String(place) === before && restored.push(place)))).toBe(true)
      expect(restored).toEqual(Array.from({ length: writes }, (_, i) => writes - 1 - i))
    }
    journal.begin()
    for (let i = 0; i < 10_000; i++) journal.record(i, '')
    journal.commit()
    expect(journal.rollback(() => expect.unreachable())).toBe(false)
  })

  test('a rollback after a commit, or without writes, restores nothing', () => {
    const journal = new UndoJournal<string, number>()
    const restore = (): void => expect.unreachable()
    journal.begin()
    journal.record('a', 1)
    journal.commit()
    expect([journal.isOpen, journal.rollback(restore)]).toEqual([false, false])
    journal.begin()
    expect(journal.rollback(restore)).toBe(false)
  })
})

describe('a map whose writes can be undone', () => {
  const filled = (): UndoableMap<string, number | undefined> => {
    const map = new UndoableMap<string, number | undefined>()
    map.set('a', 1).set('b', undefined)
    return map
  }
  const writes: readonly ((map: UndoableMap<string, number | undefined>) => void)[] = [
    (map) => map.set('a', 2).set('a', 3).set('c', 4),
    (map) => map.delete('a') && map.delete('b'),
    (map) => map.clear(),
    (map) => map.set('b', 5).delete('b'),
  ]

  test.each(writes)('a rollback restores the map (%#)', (write) => {
    const map = filled()
    map.begin()
    write(map)
    map.rollback()
    expect(new Map(map)).toEqual(new Map(filled()))
  })

  test.each(writes)('a commit keeps the writes (%#)', (write) => {
    const [map, plain] = [filled(), filled()]
    map.begin()
    write(map)
    map.commit()
    write(plain)
    map.rollback()
    expect(new Map(map)).toEqual(new Map(plain))
  })
})

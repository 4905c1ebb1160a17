import { describe, expect, test } from 'vitest'
import type { ListEvent, ListTransaction } from '../../../src/adapter.js'
import { Indexer, type SourceError } from '../../../src/index.js'
import type { Partition } from '../../../src/store/write/partition.js'
import type { WriterOptions } from '../../../src/store/write/store-writer.js'

const put = (key: string, object: string): ListEvent<string> => ({ type: 'put', key, object })
const gone = (key: string): ListEvent<string> => ({ type: 'delete', key })
const bad = (key: string): ListEvent<string> => ({ type: 'invalid', key, error: 'broken' })

/** A store with parts of two sources, eu and us. */
function parts(hooks: WriterOptions<string> = {}) {
  const reports: SourceError[] = []
  const released: string[] = []
  const report = (error: SourceError): unknown => reports.push(error)
  const indexer = new Indexer<string>({}, { report, onReleased: (source) => released.push(source), ...hooks })
  const eu = indexer.partition('eu')
  const us = indexer.partition('us')
  /** What was reported of keys that two sources give. */
  const conflicts = (): unknown[] => reports.filter(({ code }) => code === 'PROTOCOL').map(({ key }) => key)
  return { indexer, eu, us, released, conflicts, contents: () => contents(indexer) }
}

function contents(indexer: Indexer<string>): Record<string, string> {
  return Object.fromEntries(indexer.entries())
}

function begin(part: Partition<string>, ...events: ListEvent<string>[]): ListTransaction<string> {
  const replacement = part.replace()
  void replacement.page(events)
  return replacement
}

function list(part: Partition<string>, ...events: ListEvent<string>[]): void {
  void begin(part, ...events).commit('1')
}

function say(part: Partition<string>, version: string, ...events: ListEvent<string>[]): void {
  void part.apply({ events, version })
}

describe('[M6] a key that another source adds during a list', () => {
  test('the key is invalid for one source only', () => {
    const { indexer, eu, us, released } = parts()
    const listing = begin(eu, bad('k'))
    list(us, bad('k'))
    void listing.commit('1')
    say(us, '2', gone('k'))
    expect([[...indexer.invalid.keys()], released]).toEqual([[], ['eu']])
  })

  test('the list deletes the key before the other source does', () => {
    const { eu, us, contents, released } = parts()
    const listing = begin(eu, put('k', 'of eu'), put('e', 'of eu'))
    say(us, '1', put('k', 'of us'))
    void listing.page([gone('k')])
    say(us, '2', gone('k'))
    void listing.commit('1')
    expect([contents(), released]).toEqual([{ e: 'of eu' }, []])
  })

  test('the list has a later state of the key before the other source deletes it', () => {
    const { eu, us, contents, released } = parts()
    const listing = begin(eu, put('k', 'of eu'), put('e', 'of eu'))
    say(us, '1', put('k', 'of us'))
    void listing.page([put('k', 'of eu, later')])
    say(us, '2', gone('k'))
    void listing.commit('1')
    // Another list of eu, which is due now, adds the key.
    expect([contents(), released]).toEqual([{ e: 'of eu' }, ['eu']])
  })

  test('the list reports an invalid object and its end before the other source deletes it', () => {
    const { indexer, eu, us } = parts()
    const listing = begin(eu, bad('k'))
    say(us, '1', put('k', 'of us'))
    void listing.page([gone('k')])
    say(us, '2', gone('k'))
    void listing.commit('1')
    expect([...indexer.invalid.keys()]).toEqual([])
  })

  test('the claim is reported by the list that completes, not by an abandoned one', () => {
    const { eu, us, conflicts } = parts()
    list(us, put('k', 'of us'))
    begin(eu, put('k', 'of eu')).abandon()
    expect(conflicts()).toEqual([])
    list(eu, put('k', 'of eu'))
    list(eu, put('k', 'of eu'))
    expect(conflicts()).toEqual(['k'])
  })
})

test('an invalid key without an object keeps its owner, and a later invalid event is not a claim', () => {
  const { eu, us, contents, released, conflicts } = parts({ onInvalid: 'omit' })
  list(eu, put('k', 'of eu'))
  list(us, put('k', 'of us'))
  say(eu, '2', bad('k'))
  list(us, put('k', 'of us'))
  expect([contents(), released, conflicts()]).toEqual([{}, [], ['k']])
  say(eu, '3', gone('k'))
  expect(released).toEqual(['us'])
})

test('a list that exceeds the capacity with the objects of other sources is rejected as a whole', () => {
  const { eu, us, contents } = parts({ maxObjects: 4 })
  list(us, put('a', '1'), put('b', '1'))
  list(eu, put('c', '1'))
  const listing = begin(eu, put('c', '2'), put('d', '2'), put('e', '2'))
  expect(() => listing.commit('2')).toThrow('more than 4 objects')
  expect(contents()).toEqual({ a: '1', b: '1', c: '1' })
})

test('a key with a new owner is reported if another source lists it again', () => {
  const { eu, us, contents, conflicts } = parts()
  list(eu, put('k', 'of eu'))
  list(us, put('k', 'of us'))
  say(eu, '2', gone('k'))
  say(us, '2', put('k', 'of us'))
  say(us, '3', gone('k'))
  say(eu, '3', put('k', 'of eu'))
  expect(conflicts()).toEqual(['k'])
  say(us, '4', put('k', 'of us'))
  expect([contents(), conflicts()]).toEqual([{ k: 'of eu' }, ['k', 'k']])
})

import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { ChangeLines, type ChangeLinesOptions } from '../../../cli/output/change-lines.js'
import type { Change } from '../../../src/queue/change.js'

const AT = new Date(2026, 0, 31, 12, 34, 56).getTime()

const added = (key: string, object: unknown): Change<unknown> => ({
  type: 'add',
  key,
  object,
  previous: undefined,
  origin: 'watch',
  version: '1',
})
const updated = (key: string, previous: unknown, object: unknown): Change<unknown> => ({
  type: 'update',
  key,
  object,
  previous,
  origin: 'watch',
  version: '1',
})
const deleted = (key: string, object: unknown): Change<unknown> => ({
  type: 'delete',
  key,
  object,
  previous: object,
  origin: 'watch',
  version: '1',
  finalState: 'known',
})

function linesOf(changes: readonly Change<unknown>[], options: Partial<ChangeLinesOptions> = {}): string[] {
  const lines = new ChangeLines({ fields: undefined, isKubernetes: false, ...options })
  for (const change of changes) lines.add(AT, change)
  return lines.take().map(stripVTControlCharacters)
}

describe('a change as a line', () => {
  test('an add shows the object', () => {
    expect(linesOf([added('1', { id: 1n, to: 'a b' })])).toEqual(['12:34:56 + 1 {"id":"1","to":"a b"}'])
  })

  test('an update shows the fields that differ, and their old values', () => {
    const before = { id: 1, status: 'open', doc: { a: { b: 1, c: 2 }, tags: ['x'] }, gone: true }
    const after = { id: 1, status: 'in transit', doc: { a: { b: 1, c: 3 }, tags: ['x', 'y'] }, come: null }
    expect(linesOf([updated('1', before, after)])).toEqual([
      '12:34:56 ~ 1 status=open → "in transit" doc.a.c=2 → 3 doc.tags=["x"] → ["x","y"] gone=true → – come=– → null',
    ])
  })

  test('a delete shows the key', () => expect(linesOf([deleted('1', { id: 1 })])).toEqual(['12:34:56 - 1']))

  test('with chosen fields shows these, of adds and deletes too', () => {
    const options = { fields: ['status', 'doc.a', 'missing', 'x.y'] }
    const [before, after] = [
      { status: 'open', doc: { a: 1 }, 'x.y': 2 },
      { status: 'paid', doc: { a: 1 }, 'x.y': 2 },
    ]
    expect(linesOf([added('1', before), updated('1', before, after), deleted('1', after)], options)).toEqual([
      '12:34:56 + 1 status=open doc.a=1 missing=– x.y=2',
      '12:34:56 ~ 1 status=open → paid doc.a=1 missing=– x.y=2',
      '12:34:56 - 1 status=paid doc.a=1 missing=– x.y=2',
    ])
  })

  test('of an object of Kubernetes leaves out what every write changes', () => {
    const pod = (resourceVersion: string, phase: string): object => ({
      metadata: { resourceVersion },
      status: { 'app.test/phase': phase },
    })
    const changes = [
      added('a/b', pod('1', 'Pending')),
      updated('a/b', pod('1', 'Pending'), pod('2', 'Running')),
      updated('a/b', pod('2', 'Running'), pod('3', 'Running')),
    ]
    expect(linesOf(changes, { isKubernetes: true })).toEqual([
      '12:34:56 + a/b',
      '12:34:56 ~ a/b status.app.test/phase=Pending → Running',
      '12:34:56 ~ a/b metadata.resourceVersion=2 → 3',
    ])
  })

  test('of an object that is a string or bytes shows the value', () => {
    const changes = [updated('a', 'on', 'off'), updated('b', new Uint8Array(2), new Uint8Array(3))]
    expect(linesOf(changes)).toEqual(['12:34:56 ~ a on → off', '12:34:56 ~ b (2 bytes) → (3 bytes)'])
  })

  test('cannot steer the terminal', () => {
    const line = linesOf([added('\u001b[2Jkey\n', { text: 'a\u001b[2J\r' }), updated('k', '\u001b[2J', '\u0007')]).join(
      ' ',
    )
    // biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for them.
    expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
  })
})

test('of a burst of changes only the newest 100 are shown, and how many there were before', () => {
  const many = Array.from({ length: 1_234 }, (_, i) => deleted(String(i), undefined))
  const [first, ...lines] = linesOf(many)
  expect([first, lines.length, lines.at(-1)]).toEqual(['… 1 134 more changes', 100, '12:34:56 - 1233'])
})

import { describe, expect, test } from 'vitest'
import { isAnyList } from './fake.js'
import type { FakeObject } from './fake-collection.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

/** Twice as long as the core waits for a page, in seconds. */
const SLOW_S = 60

/** Begins the first list, and sends its response in pieces, one a second; returns the number of list requests. */
async function dealtOut(
  mirror: Mirror,
  isMeant: (exchange: Exchange) => boolean,
  pieces: (objects: readonly FakeObject[]) => readonly string[],
): Promise<number> {
  const requested = mirror.fake.taken(isMeant)
  mirror.informer.start()
  const list = await mirror.soon(requested)
  for (const piece of pieces(mirror.fake.collection.at())) {
    await list.write(piece)
    await mirror.pass(1_000)
  }
  if (!list.isStreamedList) list.end()
  await mirror.until('the list to be there', () => mirror.informer.status.isSynced)
  return mirror.fake.lists.length
}

/** A text in this number of pieces. */
function cut(text: string, count: number): string[] {
  const size = Math.ceil(text.length / count)
  return Array.from({ length: count }, (_, at) => text.slice(at * size, (at + 1) * size))
}

function listOf(items: readonly FakeObject[], resourceVersion: string): string {
  return JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata: { resourceVersion }, items })
}

function linesOf(objects: readonly FakeObject[], resourceVersion: string): string[] {
  const metadata = { resourceVersion, annotations: { 'k8s.io/initial-events-end': 'true' } }
  const events = [
    ...objects.map((object) => ({ type: 'ADDED', object })),
    { type: 'BOOKMARK', object: { kind: 'ConfigMap', apiVersion: 'v1', metadata } },
  ]
  return events.map((event) => `${JSON.stringify(event)}\n`)
}

describe('a list that arrives slowly but steadily', () => {
  for (const streamingLists of [true, false])
    for (const [what, objects] of [
      ['is read as it arrives', SLOW_S],
      ['is waited for if one object takes all that time', 1],
    ] as const)
      test(`${what} (${streamingLists ? 'streamed' : 'of a page'})`, () =>
        Mirror.with({ source: { streamingLists } }, async (mirror) => {
          const { collection } = mirror.fake
          for (let at = 0; at < objects; at++) collection.put(`k${at}`, 'x'.repeat(10_000 / objects))
          const lists = await dealtOut(mirror, isAnyList, (all) =>
            streamingLists && objects > 1
              ? linesOf(all, collection.version)
              : cut(
                  streamingLists ? linesOf(all, collection.version).join('') : listOf(all, collection.version),
                  SLOW_S,
                ),
          )
          expect([lists, mirror.errors, mirror.informer.size]).toEqual([1, [], objects])
        }))
})

/** More than the core waits for a page, and less than the mirror is to wait for the server. */
const LATE_MS = 40_000
const PATIENT = { timeoutMs: 60_000 }

describe('a server that answers late, though in time,', () => {
  for (const streamingLists of [true, false])
    for (const begins of ['later', 'at once'])
      test(`is waited for by a list (${streamingLists ? 'streamed' : 'of a page'}, whose answer begins ${begins})`, () =>
        Mirror.with({ source: { ...PATIENT, streamingLists }, fill: 3 }, async (mirror) => {
          const { fake, informer } = mirror
          const requested = fake.taken(isAnyList)
          informer.start()
          const list = await mirror.soon(requested)
          if (begins === 'at once') list.open()
          await mirror.pass(LATE_MS)
          const { version } = fake.collection
          const objects = fake.collection.at()
          await list.write(streamingLists ? linesOf(objects, version).join('') : listOf(objects, version))
          list.end()
          await mirror.until('the list to be there', () => informer.status.isSynced)
          expect([fake.lists.length, mirror.errors, informer.size]).toEqual([1, [], 3])
        }))

  test('is waited for by an audit', () =>
    Mirror.with({ source: PATIENT, audit: { periodMs: 300_000 }, fill: 3 }, async (mirror) => {
      const isAudit = ({ isMetadata, isList }: Exchange): boolean => isMetadata && isList
      await mirror.live()
      let requested: Exchange | undefined
      mirror.fake.next(isAudit, (exchange) => (requested = exchange))
      await mirror.untilPassing('an audit', () => requested !== undefined)
      await mirror.pass(LATE_MS)
      expect([requested?.isOpen, mirror.errors]).toEqual([true, []])
    }))
})

for (const streamingLists of [true, false])
  test(`20 objects of 1 MiB are delivered before many are in memory (${streamingLists ? 'streamed' : 'of a page'})`, () =>
    Mirror.with({ source: { streamingLists } }, async (mirror) => {
      for (let at = 0; at < 20; at++) mirror.fake.collection.put(`k${at}`, 'x'.repeat(1024 * 1024))
      const delivered: number[] = []
      for await (const { events } of mirror.source.list(mirror.context())) delivered.push(events.length)
      expect(delivered.reduce((sum, length) => sum + length)).toBe(20)
      expect(Math.max(...delivered)).toBeLessThan(8)
    }))

import { expect, test } from 'vitest'
import { isPlainList, isStreamedList, isWatch } from './fake.js'
import type { Exchange } from './fake-exchange.js'
import { Mirror } from './mirror.js'

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n'
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`
const lengthOf = (text: string): string => `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n`

/** The one that only a deadline notices. */
const SILENT = 'says no more in the middle of a chunk'

/** Ways to break an answer off so that its bytes do not add up, after its first half. */
const BROKEN = Object.entries<(exchange: Exchange, first: string, second: string) => void>({
  'has more to come by its length when the connection ends': (exchange, first, second) =>
    exchange.raw(HEAD + lengthOf(first + second) + first, { isOver: true }),
  'is longer than its length': (exchange, first, second) => exchange.raw(HEAD + lengthOf(first) + first + second),
  'has a length that is not a number': (exchange, first) => exchange.raw(`${HEAD}Content-Length: many\r\n\r\n${first}`),
  'has a chunk whose size is not a number': (exchange, first, second) =>
    exchange.raw(`${CHUNKED}${chunk(first)}zz\r\n${second}\r\n`),
  'has a chunk that is longer than its size': (exchange, first, second) =>
    exchange.raw(`${CHUNKED}${chunk(first)}1\r\n${second}\r\n`),
  'ends in the middle of a chunk': (exchange, first, second) =>
    exchange.raw(CHUNKED + chunk(first) + chunk(second).slice(0, second.length >> 1), { isOver: true }),
  'is reset in the middle of a chunk': (exchange, first, second) => {
    exchange.raw(CHUNKED + chunk(first) + chunk(second).slice(0, second.length >> 1))
    setTimeout(() => exchange.reset(), 50)
  },
  'ends between two chunks, without a last one': (exchange, first) =>
    exchange.raw(CHUNKED + chunk(first), { isOver: true }),
  'has a last chunk too early': (exchange, first) =>
    exchange.raw(`${CHUNKED}${chunk(first)}0\r\n\r\n`, { isOver: true }),
  'says no more in the middle of a chunk': (exchange, first, second) =>
    exchange.raw(CHUNKED + chunk(first) + chunk(second).slice(0, second.length >> 1)),
})

/** Cut so that the beginning is a list that could be taken for a whole one, if its end did not matter. */
function halves(body: string, at: number): readonly [string, string] {
  return [body.slice(0, at), body.slice(at)]
}

/** Waits; deadlines pass only if nothing else would end it. */
function until(mirror: Mirror, broken: string, what: string, isSo: () => boolean): Promise<void> {
  return broken === SILENT ? mirror.untilPassing(what, isSo) : mirror.until(what, isSo)
}

test.each(BROKEN)('a list whose answer %s is rejected, and the list is read again', (broken, send) =>
  Mirror.with({ source: { streamingLists: false } }, async (mirror) => {
    const { fake, informer } = mirror
    fake.collection.fill(300)
    fake.next(isPlainList, (exchange) => {
      const metadata = { resourceVersion: fake.collection.version }
      const body = JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata, items: fake.collection.at() })
      send(exchange, ...halves(body, body.lastIndexOf(',{"apiVersion"')))
    })
    informer.start()
    await until(mirror, broken, 'the failure', () => mirror.errors.length > 0 || informer.status.isSynced)
    const size = informer.size
    await until(mirror, broken, 'the list', () => informer.status.isSynced)
    await mirror.healed()
    expect([size, mirror.errors.map(({ code }) => code)]).toEqual([0, ['UNAVAILABLE']])
  }),
)

test('an error that arrives byte by byte is given up after timeoutMs, and the list is read again', () =>
  Mirror.with({ source: { streamingLists: false } }, async (mirror) => {
    const { fake, informer } = mirror
    fake.collection.fill(3)
    let drop: (() => void) | undefined
    fake.next(isPlainList, (exchange) => {
      exchange.raw('HTTP/1.1 500 Error\r\nContent-Length: 60000\r\n\r\n')
      drop = () => exchange.isOpen && exchange.raw('x')
    })
    informer.start()
    await mirror.until('the list', () => drop !== undefined)
    for (let n = 0; n < 20 && mirror.errors.length === 0; n++) {
      drop?.()
      await mirror.pass(4_000)
    }
    expect(mirror.errors).toMatchObject([{ code: 'UNAVAILABLE', message: expect.stringContaining('no answer for') }])
    await mirror.until('the list', () => informer.status.isSynced)
    await mirror.healed()
  }))

test.each(BROKEN)('a list that is streamed and %s is rejected, and the list is read again', (broken, send) =>
  Mirror.with({}, async (mirror) => {
    const { fake, informer } = mirror
    fake.collection.fill(100)
    fake.next(isStreamedList, (exchange) => {
      const metadata = {
        resourceVersion: fake.collection.version,
        annotations: { 'k8s.io/initial-events-end': 'true' },
      }
      const events = fake.collection.at().map((object) => ({ type: 'ADDED', object }))
      const all = [...events, { type: 'BOOKMARK', object: { kind: 'ConfigMap', apiVersion: 'v1', metadata } }]
      const body = all.map((event) => `${JSON.stringify(event)}\n`).join('')
      send(exchange, ...halves(body, body.indexOf('{"type":"BOOKMARK"')))
    })
    informer.start()
    await until(mirror, broken, 'the list', () => informer.status.isSynced)
    await mirror.healed()
    expect(fake.lists.length).toBe(2)
  }),
)

test.each(BROKEN)('a watch whose answer %s is opened again, and loses nothing', (broken, send) =>
  Mirror.live({ fill: 3 }, async (mirror) => {
    const { collection } = mirror.fake
    const [open] = collection.watching
    const requested = mirror.fake.taken(isWatch)
    collection.forget(open)
    open?.end()
    const watch = await mirror.soon(requested)
    const changes = ['k0', 'k1'].map((name) => {
      collection.put(name, 'after')
      const object = collection.at().find(({ metadata }) => metadata.name === name)
      return `${JSON.stringify({ type: 'MODIFIED', object })}\n`
    })
    const body = changes.join('')
    // In the middle of the second event.
    send(watch, ...halves(body, (changes[0]?.length ?? 0) + 60))
    await until(mirror, broken, 'another watch', () => collection.watching.length > 0)
    await mirror.healedAfter(0)
  }),
)

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { freePort } from '../../tools/postgres/free-port.js'
import { type FaultProxy, startFaultProxy } from './fault-proxy.js'
import { waitUntil } from './wait-until.js'

/** A server that answers as it is told, behind a proxy. */
class Stand implements AsyncDisposable {
  readonly sockets: Socket[] = []
  readonly #server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {})
    this.sockets.push(socket)
    this.#answer(socket)
  })
  readonly #answer: (socket: Socket) => void
  readonly proxy: FaultProxy

  private constructor(answer: (socket: Socket) => void, proxy: FaultProxy) {
    this.#answer = answer
    this.proxy = proxy
  }

  static async open(answer: (socket: Socket) => void): Promise<Stand> {
    const targetPort = await freePort()
    const stand = new Stand(answer, await startFaultProxy({ targetPort }))
    stand.#server.listen(targetPort, '127.0.0.1')
    await once(stand.#server, 'listening')
    return stand
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.proxy[Symbol.asyncDispose]()
    for (const socket of this.sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** A client that keeps what it is told. */
class Ear {
  readonly socket: Socket
  readonly pieces: string[] = []
  fate: 'open' | 'ended' | 'ECONNRESET' = 'open'

  constructor(proxy: FaultProxy) {
    this.socket = connect({ port: proxy.port, host: '127.0.0.1' })
    this.socket.on('data', (bytes) => this.pieces.push(String(bytes)))
    this.socket.on('end', () => {
      this.fate = 'ended'
    })
    this.socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') this.fate = 'ECONNRESET'
    })
  }

  get heard(): string {
    return this.pieces.join('')
  }
}

const echo = (socket: Socket): unknown => socket.pipe(socket)

/** A client that has heard its own `1`. */
async function echoed(proxy: FaultProxy): Promise<Ear> {
  const ear = new Ear(proxy)
  ear.socket.write('1')
  await waitUntil('the echo', () => ear.heard === '1')
  return ear
}

test('what is said to the very end arrives, also when it is delayed past the end of the connection', async () => {
  const text = 'x'.repeat(300_000)
  await using stand = await Stand.open((socket) => socket.end(text))
  const { proxy } = stand
  proxy.delay(50)
  const ear = new Ear(proxy)
  ear.socket.end()
  await waitUntil('the end', () => ear.fate !== 'open')
  expect(ear.fate).toBe('ended')
  expect(ear.heard).toBe(text)
  await waitUntil('the proxy to forget', () => proxy.counts.open === 0)
})

test('a hold stops both directions and new connections, and loses nothing', async () => {
  await using stand = await Stand.open(echo)
  const { proxy } = stand
  const old = await echoed(proxy)

  proxy.hold()
  old.socket.write('2')
  stand.sockets[0]?.write('3')
  const late = new Ear(proxy)
  late.socket.write('4')
  await waitUntil('the new connection', () => proxy.counts.open === 2)
  await sleep(50)
  expect([old.heard, late.heard, stand.sockets.length]).toEqual(['1', '', 1])

  proxy.pass()
  await waitUntil('all of it', () => old.heard.length === 3 && late.heard === '4')
  expect(old.heard.split('').toSorted()).toEqual(['1', '2', '3'])
})

test('a hold also holds what a delay has on its way', async () => {
  await using stand = await Stand.open(echo)
  const { proxy } = stand
  const ear = await echoed(proxy)
  proxy.delay(30)
  stand.sockets[0]?.write('2')
  await sleep(15)
  proxy.hold()
  await sleep(60)
  expect(ear.heard).toBe('1')
  proxy.pass()
  await waitUntil('the rest', () => ear.heard === '12')
})

test('half open, the server hears the end and the client hears nothing', async () => {
  await using stand = await Stand.open(echo)
  const { proxy } = stand
  const ear = await echoed(proxy)

  proxy.halfOpen({ newConnections: true })
  await waitUntil('the server to hear of it', () => stand.sockets[0]?.readableEnded === true)
  ear.socket.write('2')
  const late = new Ear(proxy)
  late.socket.write('3')
  await waitUntil('the new connection', () => proxy.counts.open === 2)
  expect([stand.sockets.length, ear.fate, late.fate]).toEqual([1, 'open', 'open'])

  proxy.pass()
  await echoed(proxy)
  expect([ear.heard, ear.fate, late.heard, late.fate]).toEqual(['1', 'open', '', 'open'])
  ear.socket.destroy()
  late.socket.destroy()
  await waitUntil('the proxy to notice', () => proxy.counts.open === 1)
})

test('a reset is heard at both ends, once', async () => {
  await using stand = await Stand.open(echo)
  const { proxy } = stand
  const ear = await echoed(proxy)
  const server = stand.sockets[0]
  const heard = new Promise<unknown>((resolve) => server?.once('error', resolve))
  proxy.reset()
  expect(await heard).toMatchObject({ code: 'ECONNRESET' })
  await waitUntil('the reset', () => ear.fate === 'ECONNRESET')
  await echoed(proxy)
  expect(proxy.counts).toEqual({ accepted: 2, refused: 0, reset: 1, open: 1 })
})

test('refused connections are reset, the others stay', async () => {
  await using stand = await Stand.open(echo)
  const { proxy } = stand
  const old = await echoed(proxy)
  proxy.refuse()
  const late = new Ear(proxy)
  await waitUntil('the refusal', () => late.fate === 'ECONNRESET')
  old.socket.write('2')
  await waitUntil('another echo', () => old.heard === '12')
  expect(proxy.counts).toEqual({ accepted: 2, refused: 1, reset: 0, open: 1 })
})

test('a cut lets exactly the given number of bytes through, then resets', async () => {
  await using stand = await Stand.open((socket) => socket.write('0123456789'.repeat(20_000)))
  const { proxy } = stand
  const done = proxy.cutAfter(100_003, 'toClient')
  const ear = new Ear(proxy)
  await done
  await waitUntil('the reset', () => ear.fate === 'ECONNRESET')
  expect(ear.heard.length).toBe(100_003)
  const next = new Ear(proxy)
  await waitUntil('all of it', () => next.heard.length === 200_000)
})

test('chopped, all arrives, in pieces of that size', async () => {
  await using stand = await Stand.open(echo)
  const { proxy } = stand
  const ear = new Ear(proxy)
  await once(ear.socket, 'connect')
  proxy.chop(3)
  const text = '0123456789'.repeat(30)
  ear.socket.write(text)
  await waitUntil('the echo', () => ear.heard.length === text.length)
  expect(ear.heard).toBe(text)
  // A slow reader may find two at once.
  expect(ear.pieces.every((piece) => piece.length % 3 === 0)).toBe(true)
  expect(ear.pieces.length).toBeGreaterThan(10)
})

test('throttled, all arrives, and takes its time over all connections together', async () => {
  await using stand = await Stand.open((socket) => socket.write('0123456789'.repeat(5_000)))
  const { proxy } = stand
  proxy.throttle(200_000)
  const before = performance.now()
  const ears = [new Ear(proxy), new Ear(proxy)]
  await waitUntil('all of it', () => ears.every(({ heard }) => heard.length === 50_000))
  expect(performance.now() - before).toBeGreaterThan(400)
  proxy.pass()
  const ear = new Ear(proxy)
  await waitUntil('all of it at once', () => ear.heard.length === 50_000, 400)
})

import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { serverSentEvents } from '../../../../serving/http/event-stream.js'
import { httpSource } from '../../../../serving/http/index.js'
import { createInformer, type SourceError } from '../../../../src/index.js'
import { SeededRandom } from '../../../../testing/seeded-random.js'
import { VirtualClock } from '../../../../testing/virtual-clock.js'
import { failure } from '../../../support/failure.js'
import { assertCleanStop } from '../../../support/informers.js'

const FEED = 'f'.repeat(22)
const HEARTBEAT_MS = 1_000
/** A watch that yields nothing for this time counts as dead. */
const DEAD_MS = 2 * HEARTBEAT_MS + 5_000
const PART = `event: part\ndata: {"events":[{"type":"put","key":"a","object":1}]}\n\n`
const END = 'event: end\ndata: {}\n\n'

/** A follower of a server whose bodies the test sends piece by piece. The list has the object `a`. */
function slowServer({ isSlowList = false, isHeldBack = false } = {}) {
  const clock = new VirtualClock()
  const bodies: ReadableStreamDefaultController<Uint8Array>[] = []
  const version = `h1.${FEED}.0.`
  const fetch = async (url: string, { signal }: RequestInit): Promise<Response> => {
    const { pathname, searchParams } = new URL(url)
    const isList = pathname === '/m/list'
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const begin = `event: begin\ndata: ${JSON.stringify({ version, request: searchParams.get('request') })}\n\n`
        if (isHeldBack && !isList) return
        controller.enqueue(new TextEncoder().encode(begin + (isList ? PART : '') + (isList && !isSlowList ? END : '')))
        if (isList && !isSlowList) return controller.close()
        bodies.push(controller)
        signal?.addEventListener('abort', () => controller.error(signal.reason))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  }
  const source = httpSource<number>({ url: 'http://mirror.test/m', heartbeatMs: HEARTBEAT_MS, fetch })
  const follower = createInformer({ source, clock, random: new SeededRandom(1) })
  const errors: SourceError[] = []
  follower.on('error', (error) => errors.push(error))
  onTestFinished(() => assertCleanStop(follower, clock))
  follower.start()
  /** Sends a text to the newest watch, and lets time pass. */
  const send = async (text: string, ms: number): Promise<void> => {
    bodies.at(-1)?.enqueue(new TextEncoder().encode(text))
    await clock.advance(ms)
  }
  return { clock, follower, errors, bodies, send }
}

function frame(sequence: number, type: 'part' | 'batch', key: string, object: unknown = 2): string {
  const data = { version: `h1.${FEED}.${sequence}.`, events: [{ type: 'put', key, object }] }
  return `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
}

describe('over a slow connection', () => {
  test('[V20] a batch whose parts take longer than the time after which a silent watch is dead is applied', async () => {
    const { clock, follower, errors, bodies, send } = slowServer()
    await clock.advance(0)
    for (let sequence = 1; sequence <= 6; sequence++) await send(frame(sequence, 'part', `p${sequence}`), DEAD_MS / 2)
    expect(follower.size).toBe(1)
    await send(frame(7, 'batch', 'z'), 0)
    expect([follower.size, errors, bodies.length]).toEqual([8, [], 1])
  })

  test('[V20] a single event that takes longer than that is applied', async () => {
    const { clock, follower, errors, bodies, send } = slowServer()
    await clock.advance(0)
    const text = frame(1, 'batch', 'z')
    const size = Math.ceil(text.length / 6)
    for (let at = 0; at < text.length; at += size) await send(text.slice(at, at + size), DEAD_MS / 2)
    expect([follower.get('z'), errors, bodies.length]).toEqual([2, [], 1])
  })

  test('[V20] a list whose parts take longer than 30 s is applied', async () => {
    const { clock, follower, errors, bodies, send } = slowServer({ isSlowList: true })
    await clock.advance(0)
    const text = frame(1, 'part', 'b') + frame(2, 'batch', 'z')
    for (let at = 0; at < text.length; at += 60) await send(text.slice(at, at + 60), 20_000)
    expect(follower.status.isSynced).toBe(false)
    await send(END, 0)
    bodies.at(-1)?.close()
    await clock.advance(0)
    await expect.poll(() => follower.size).toBe(3)
    expect(errors).toEqual([])
  })

  test('a watch that is silent within an event is dead', async () => {
    const { clock, errors, bodies, send } = slowServer()
    await clock.advance(0)
    await send(frame(1, 'batch', 'z').slice(0, -5), DEAD_MS + 1)
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE' }])
    await clock.advance(60_000)
    expect(bodies.length).toBeGreaterThan(1)
  })

  test('[V24] a watch whose frames are held back is not live, and its error names proxies', async () => {
    const { clock, follower, errors } = slowServer({ isHeldBack: true })
    await clock.advance(DEAD_MS - 1)
    expect([follower.status.state, follower.status.isSynced]).toEqual(['connecting', true])
    await clock.advance(1)
    expect(errors).toMatchObject([failure('UNAVAILABLE', 'a proxy buffers or compr')])
  })

  test.each([
    ['pageshow', HEARTBEAT_MS, 1],
    ['pageshow', HEARTBEAT_MS + 1, 2],
    ['online', 0, 2],
  ])('[V26] at %s a watch that was silent for %d ms is one of %d watches', async (event, silentMs, count) => {
    const page = new EventTarget()
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    onTestFinished(() => void vi.unstubAllGlobals())
    const { clock, errors, bodies } = slowServer()
    await clock.advance(0)
    await clock.advance(silentMs)
    page.dispatchEvent(new Event(event))
    await clock.advance(1_000)
    await expect.poll(() => bodies.length).toBe(count)
    expect(errors).toEqual([])
  })

  test('[V20] comments do not keep a watch without frames', async () => {
    const { clock, errors, send } = slowServer()
    await clock.advance(0)
    await send(': a proxy is here\n\n', DEAD_MS / 2)
    await send(': the beginning of a comm', DEAD_MS / 2 + 1)
    expect(errors).toMatchObject([{ code: 'UNAVAILABLE' }])
  })
})

async function eventsOf(body: ReadableStream<Uint8Array>, maxCharacters: number): Promise<unknown[]> {
  const events: unknown[] = []
  for await (const event of serverSentEvents(body, maxCharacters)) events.push(event)
  return events
}

describe('an event that does not end', () => {
  const endless = (line: string) => {
    let pulls = 0
    return new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls++
        controller.enqueue(new TextEncoder().encode(line))
        if (pulls > 100) controller.error(new Error('it was read without a limit'))
      },
    })
  }

  test.each([
    ['in one line', 'data:xxxxxx'],
    ['in many lines', 'data: x\n'],
    ['as a comment', ': xxxxxxxxx'],
  ])('[V21] %s is refused at a limit, and the error names it', async (_how, line) => {
    await expect(eventsOf(endless(line), 500)).rejects.toMatchObject(failure('PROTOCOL', '500 characters'))
  })

  test('events that end do not count together', async () => {
    const text = 'data: x\n\n'.repeat(100)
    const body = new Blob([text]).stream()
    expect(await eventsOf(body, 20)).toHaveLength(100)
  })
})

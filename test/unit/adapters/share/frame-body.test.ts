import { describe, expect, test } from 'vitest'
import { FrameBody } from '../../../../adapters/share/frame-body.js'
import { WINDOW_BYTES } from '../../../../adapters/share/port-messages.js'

function body(): { readonly frames: FrameBody; readonly reports: (number | 'cancelled')[] } {
  const reports: (number | 'cancelled')[] = []
  const frames = new FrameBody({ taken: (bytes) => reports.push(bytes), cancelled: () => reports.push('cancelled') })
  return { frames, reports }
}

const frame = (n: number): Uint8Array => Uint8Array.of(n)

describe('the frames of a response over a port', () => {
  test('are read in order, before and after they arrive, until the end', async () => {
    const { frames } = body()
    frames.push(frame(1))
    frames.push(frame(2))
    const reader = frames.getReader()
    expect([await reader.read(), await reader.read()]).toEqual([
      { done: false, value: frame(1) },
      { done: false, value: frame(2) },
    ])
    const next = reader.read()
    frames.push(frame(3))
    frames.push(frame(4))
    frames.end()
    expect([await next, await reader.read(), await reader.read()]).toEqual([
      { done: false, value: frame(3) },
      { done: false, value: frame(4) },
      { done: true },
    ])
  })

  test('are reported when the reader has taken a quarter of the window, and not when they arrive', async () => {
    const { frames, reports } = body()
    const large = new Uint8Array(WINDOW_BYTES / 8)
    for (let i = 0; i < 5; i++) frames.push(large)
    expect(reports).toEqual([])
    for (let i = 0; i < 5; i++) await frames.read()
    expect(reports).toEqual([WINDOW_BYTES / 4, WINDOW_BYTES / 4])
  })

  test('that were not read are dropped by an error, which every read rejects with', async () => {
    const { frames, reports } = body()
    const error = new Error('closed')
    frames.push(frame(1))
    frames.fail(error)
    frames.end()
    await expect(frames.read()).rejects.toBe(error)
    await expect(frames.read()).rejects.toBe(error)
    const other = body().frames
    const waiting = other.read()
    other.fail(error)
    await expect(waiting).rejects.toBe(error)
    await frames.cancel()
    expect(reports).toEqual([])
  })

  test('that a reader cancels end its reads, and are cancelled once', async () => {
    const { frames, reports } = body()
    const waiting = frames.read()
    await frames.cancel()
    await frames.cancel()
    frames.push(frame(1))
    expect([await waiting, await frames.read(), reports]).toEqual([{ done: true }, { done: true }, ['cancelled']])
  })
})

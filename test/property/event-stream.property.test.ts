import fc from 'fast-check'
import { expect, test } from 'vitest'
import { serverSentEvents } from '../../serving/http/event-stream.js'

const line = fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll(/[\r\n]/g, ' '))
const event = fc.record({
  type: fc.constantFrom('batch', 'part', 'error'),
  data: fc.array(line, { minLength: 1, maxLength: 3 }).map((lines) => lines.join('\n')),
})

test('events are the same, however the response is split into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 5 }),
      fc.constantFrom('\n', '\r\n'),
      fc.array(fc.nat({ max: 500 }), { maxLength: 8 }),
      async (events, newline, cuts) => {
        const lines = events.flatMap(({ type, data }) => [
          ': a comment',
          `event: ${type}`,
          ...data.split('\n').map((each) => `data: ${each}`),
          '',
        ])
        const bytes = new TextEncoder().encode([...lines, 'data: cut off'].join(newline))
        const positions = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        const body = new ReadableStream<Uint8Array>({
          start(controller) {
            for (const [i, from] of positions.entries()) {
              const chunk = bytes.slice(from, positions[i + 1])
              if (chunk.length > 0) controller.enqueue(chunk)
            }
            controller.close()
          },
        })
        const received = []
        for await (const each of serverSentEvents(body)) if (each !== undefined) received.push(each)
        expect(received).toEqual(events)
      },
    ),
  )
})

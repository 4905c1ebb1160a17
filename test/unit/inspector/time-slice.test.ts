import { expect, test } from 'vitest'
import { TimeSlice } from '../../../inspector/time-slice.js'

const { signal } = new AbortController()

test('of several works one has a slice in each turn of the event loop', async () => {
  const lines: string[] = []
  const work = async (name: string): Promise<void> => {
    const slice = new TimeSlice(signal)
    await slice.end()
    lines.push(name)
  }
  const turns = async (): Promise<void> => {
    for (let turn = 1; turn <= 3; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      lines.push(`turn ${turn}`)
    }
  }
  await Promise.all([work('a'), work('b'), work('c'), turns()])
  expect(lines).toEqual(['a', 'turn 1', 'b', 'turn 2', 'c', 'turn 3'])
})

test('work ends with the reason of its signal', async () => {
  const abort = new AbortController()
  const ended = new TimeSlice(abort.signal).end()
  abort.abort(new Error('the client left'))
  await expect(ended).rejects.toThrow('the client left')
})

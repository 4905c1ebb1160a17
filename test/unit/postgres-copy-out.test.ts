import { expect, test } from 'vitest'
import { CopyOut } from '../../adapters/postgres/copy-out-stream.js'

test.each([0, 2])('COPY that fails after %i lines, of which none is left, rejects', async (lines) => {
  const copy = new CopyOut('COPY t TO STDOUT', 2, (line) => line)
  for (let at = 0; at < lines; at++) copy.handleCopyData({ chunk: Buffer.from(`${at}\n`) })
  if (lines > 0) expect(await copy.next()).toEqual(['0', '1'])
  const next = copy.next()
  copy.handleError(new Error('canceled'))
  await expect(next).rejects.toThrow('canceled')
})

test('lines that arrive at once are read in one microtask, before the next page is due', async () => {
  const read: string[] = []
  const copy = new CopyOut('COPY t TO STDOUT', 2, (line) => {
    read.push(line)
    return line
  })
  for (const text of ['one\n', 'two\nthr', 'ee\n']) copy.handleCopyData({ chunk: Buffer.from(text) })
  expect(read).toEqual([])
  await Promise.resolve()
  expect(read).toEqual(['one', 'two', 'three'])
  expect(await copy.next()).toEqual(['one', 'two'])
  copy.handleReadyForQuery()
  expect(await copy.next()).toEqual(['three'])
  expect(await copy.next()).toBeUndefined()
})

test('a server that sends faster than pages are read is paused, and resumed for the next page', async () => {
  const calls: string[] = []
  const copy = new CopyOut('COPY t TO STDOUT', 2, (line) => line)
  copy.submit({
    query: () => {},
    stream: { destroy: () => {}, pause: () => calls.push('pause'), resume: () => calls.push('resume') },
  })
  copy.handleCopyData({ chunk: Buffer.from('1\n2\n3\n4\n5\n6\n7\n') })
  await Promise.resolve()
  expect(calls).toEqual([])
  copy.handleCopyData({ chunk: Buffer.from('8\n') })
  await Promise.resolve()
  expect(calls).toEqual(['pause'])
  for (let page = 0; page < 4; page++) expect(await copy.next()).toHaveLength(2)
  const next = copy.next()
  expect(calls).toEqual(['pause', 'resume'])
  copy.handleReadyForQuery()
  expect(await next).toBeUndefined()
})

import { expect, test } from 'vitest'
import { CopyOut } from '../../../../adapters/postgres/connection/copy-out-stream.js'
import { LineBuffer } from '../../../../adapters/postgres/connection/line-buffer.js'
import { RowCodec } from '../../../../adapters/postgres/table/row-codec.js'

function notLong(): never {
  throw new Error('no line is long')
}

test.each([0, 2])('COPY that fails after %i lines, of which none is left, rejects', async (lines) => {
  const copy = new CopyOut('COPY t TO STDOUT', 2, (line) => line, notLong)
  for (let at = 0; at < lines; at++) copy.handleCopyData({ chunk: Buffer.from(`${at}\n`) })
  if (lines > 0) expect(await copy.next()).toEqual(['0', '1'])
  const next = copy.next()
  copy.handleError(new Error('canceled'))
  await expect(next).rejects.toThrow('canceled')
})

test('lines that arrive at once are read in one microtask, before the next page is due', async () => {
  const read: string[] = []
  const copy = new CopyOut(
    'COPY t TO STDOUT',
    2,
    (line) => {
      read.push(line)
      return line
    },
    notLong,
  )
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
  const copy = new CopyOut('COPY t TO STDOUT', 2, (line) => line, notLong)
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

test.each(['x', 'é'])('[P20] a row longer than a string can be is invalid, and those around it are read', (char) => {
  const columns = [
    { name: 'id', typeId: 25, keyPosition: 0 },
    { name: 'text', typeId: 25, keyPosition: undefined },
  ]
  const codec = new RowCodec(columns, () => (text) => text, 16 * 1024 * 1024)
  const read: unknown[] = []
  const lines = new LineBuffer(
    (line, bytes, at) => read.push(codec.fromCopyLine(line, bytes, at)),
    (fields, length) => read.push(codec.fromLongLine(fields, length)),
    100,
  )
  const long = `a\\nb\t${char.repeat(200)}`
  lines.push(Buffer.from(`one\t1\n${long}\ntwo\t${'y'.repeat(90)}\n`))
  lines.flush()
  expect(read).toEqual([
    { type: 'put', key: 'one', object: { id: 'one', text: '1' } },
    { type: 'invalid', key: 'a\nb', error: expect.objectContaining({ code: 'DECODE', message: tooLong(long) }) },
    { type: 'put', key: 'two', object: { id: 'two', text: 'y'.repeat(90) } },
  ])
})

function tooLong(line: string): string {
  return `the row has ${Buffer.byteLength(line)} bytes; a string cannot have as many`
}

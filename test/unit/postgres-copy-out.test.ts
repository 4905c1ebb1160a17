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

test('lines are read in any division of them into messages, with their bytes only if each character has one', async () => {
  const read: (readonly [line: string, text: string | undefined])[] = []
  const copy = new CopyOut('COPY t TO STDOUT', 100, (line, bytes) => {
    read.push([line, bytes?.toString('utf8', 0, line.length)])
    return line
  })
  for (const text of ['one\n', 'zwölf\n', 'two\nthr', 'ee\n', '\n', 'four\nfive\n'])
    copy.handleCopyData({ chunk: Buffer.from(text) })
  copy.handleReadyForQuery()
  expect(await copy.next()).toEqual(['one', 'zwölf', 'two', 'three', '', 'four', 'five'])
  expect(read.filter(([, text]) => text !== undefined)).toEqual([
    ['one', 'one'],
    ['', ''],
  ])
})

import { expect, test } from 'vitest'
import { CopyOut } from '../../adapters/postgres/copy-out-stream.js'

test.each([0, 2])('COPY that fails after %i lines, of which none is left, rejects', async (lines) => {
  const copy = new CopyOut('COPY t TO STDOUT', 2)
  for (let at = 0; at < lines; at++) copy.handleCopyData({ chunk: Buffer.from(`${at}\n`) })
  if (lines > 0) expect(await copy.next()).toEqual(['0', '1'])
  const next = copy.next()
  copy.handleError(new Error('canceled'))
  await expect(next).rejects.toThrow('canceled')
})

import { expect, onTestFinished, test, vi } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { printChanges } from '../../../cli/output/json-changes.js'
import { createInformer } from '../../../src/index.js'

test('the changes of a large transaction are written in parts', async () => {
  const source = memorySource<{ readonly text: string }>()
  const rows = createInformer({ source, audit: false })
  onTestFinished(() => rows.stop())
  await rows.start().synced()
  const written: string[] = []
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  onTestFinished(() => write.mockRestore())
  const end = new AbortController()
  const printing = printChanges(rows, end.signal)
  source.transaction((tx) => {
    for (let n = 0; n < 50; n++) tx.put(String(n), { text: 'x'.repeat(30_000) })
  })
  await vi.waitFor(() => expect(written.join('').split('\n')).toHaveLength(52))
  end.abort()
  await printing
  expect(Math.max(...written.map(({ length }) => length))).toBeLessThan(100_000)
  const lines = written.join('').trim().split('\n')
  expect(new Set(lines.map((line) => (JSON.parse(line) as { type: string }).type))).toEqual(new Set(['add', 'synced']))
})

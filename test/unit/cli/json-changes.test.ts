import { expect, test, vi } from 'vitest'
import { memorySource } from '../../../adapters/memory/index.js'
import { indexesOf } from '../../../cli/commands/watch.js'
import { CliError } from '../../../cli/output/cli-error.js'
import { printChanges } from '../../../cli/output/json-changes.js'
import type { Row } from '../../../cli/sources/source-types.js'
import { createInformer } from '../../../src/index.js'

const named = { toCliError: ({ message }: Error) => new CliError(message), message: String, [Symbol.dispose]: () => {} }

test('the changes of a large transaction are written in parts', async () => {
  const source = memorySource<Row>()
  await using rows = createInformer({ source, audit: false, indexes: indexesOf([]) })
  await rows.start().synced()
  const written: string[] = []
  using _ = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0)
  const end = new AbortController()
  const open = { ...named, source, kind: 'postgres', of: 'orders' } as const
  const printing = printChanges([{ open, rows }], end.signal)
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

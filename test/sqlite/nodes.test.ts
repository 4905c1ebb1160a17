import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { otherNode } from '../support/other-node.js'

const KIT = ['node_modules/vitest/vitest.mjs', 'run', '--project', 'kit', 'test/conformance/sqlite.test.ts']

/** better-sqlite3 crashes on older versions than its own. */
test.for([
  ['22.13.1', 'node:sqlite'],
  ['22.16.0', 'better-sqlite3'],
])('the oldest Node of each driver passes the kit: Node %s, %s', async ([version = '', driver], context) => {
  const run = await otherNode(context, version)
  const output = await run([...KIT, '-t', `by ${driver}, journal mode wal`])
  const [, passed] = /Tests\s+(\d+) passed/.exec(stripVTControlCharacters(output)) ?? []
  expect(Number(passed)).toBeGreaterThan(70)
})

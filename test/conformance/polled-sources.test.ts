import { createHash } from 'node:crypto'
import { stripTypeScriptTypes } from 'node:module'
import type { ListerWatcher } from '../../src/contract/source.js'
import { type ConformanceCapability, describeListerWatcher } from '../../testing/index.js'
import { blocksOf } from '../support/documents.js'

/** What the example calls a country: `name` is the value that the conformance cases write. */
interface Country {
  readonly code: string
  readonly name: string
}
type Read = (signal: AbortSignal) => Promise<readonly Country[]>

const example = blocksOf(['README.md']).find(({ text }) => text.includes('const countries: ListerWatcher<Country>'))
const code = stripTypeScriptTypes(example?.text ?? '').replace(/^import .*$/m, '')

/** The source that the code block of README.md defines, with a shorter poll interval. */
function countriesSource(read: Read, pollMs: number): ListerWatcher<Country> {
  const define = new Function('createHash', 'read', `${code.replaceAll('60_000', String(pollMs))}\nreturn countries`)
  return define(createHash, read) as ListerWatcher<Country>
}

const polled = 'the source polls: it has no history, and reads the collection as it is'
const unsupported: Partial<Record<ConformanceCapability, string>> = {
  openTransactions: 'an array in memory has no transactions that stay open',
  compaction: polled,
  epochs: polled,
  corruption: 'the example decodes nothing',
  outage: 'nothing is open between two polls',
  connections: 'nothing is open between two polls',
  head: polled,
  hasReached: polled,
  versions: polled,
  progressRequests: polled,
}

await describeListerWatcher('the polled source of README.md', {
  create() {
    const countries = new Map<string, Country>()
    const read: Read = async (signal) => {
      signal.throwIfAborted()
      return [...countries.values()]
    }
    return {
      source: countriesSource(read, 10),
      read: ({ name }) => name,
      write(changes) {
        for (const { key, value } of changes) {
          if (value === undefined) countries.delete(key)
          else countries.set(key, { code: key, name: value })
        }
        return undefined
      },
    }
  },
  unsupported,
})

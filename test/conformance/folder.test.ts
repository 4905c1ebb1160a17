import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { describeListerWatcher } from '../../testing/index.js'
import { ensureBuilt } from '../support/build.js'

await ensureBuilt() // The example imports the package by its name.
const { folderSource } = await import('../../examples/folder-source.js')

let root = ''
beforeAll(async () => (root = await mkdtemp(join(tmpdir(), 'listwatch-folder-'))))
afterAll(() => rm(root, { recursive: true, force: true }))

await describeListerWatcher('a folder of JSON files', {
  async create() {
    const folder = await mkdtemp(join(root, 'case-'))
    const path = (key: string): string => join(folder, `${key}.json`)
    let count = 0
    const replace = async (key: string, text: string): Promise<void> => {
      const writing = join(folder, `writing${++count}`)
      await writeFile(writing, text)
      await rename(writing, path(key)) // No reader sees half a file.
    }
    return {
      source: folderSource<{ readonly value: string }>(folder, { pollMs: 10 }),
      read: ({ value }) => value,
      async write(changes) {
        for (const { key, value } of changes) {
          if (value === undefined) await rm(path(key), { force: true })
          else await replace(key, JSON.stringify({ value }))
        }
        return undefined
      },
      corrupt: (key) => replace(key, '{'),
      refuses: refusalOf,
      dispose: () => rm(folder, { recursive: true }),
    }
  },
  unsupported: {
    transactions: 'each file is written by itself',
    openTransactions: 'each file is written by itself',
    compaction: 'there is no history: a replace has the current objects',
    epochs: 'a restored folder is a changed folder',
    outage: 'there is no connection that could be lost',
    connections: 'nothing stays open between two polls',
    head: 'the version is a hash, which only the objects give',
    hasReached: 'hashes have no order',
    versions: 'objects have no versions that are cheaper than themselves',
    progressRequests: 'a reader cannot wait for versions that have no order',
  },
})

function refusalOf(key: string): string | undefined {
  if (key.includes('/') || key.includes('\0')) return 'no file has such a name'
  if (Buffer.byteLength(key) > 250) return 'a file name has at most 255 bytes'
  if (!key.isWellFormed()) return 'a file name has no unpaired surrogate'
  if (process.platform !== 'linux' && !/^[a-z0-9_-]+$/.test(key))
    return 'file names may be equal although the keys differ'
  return undefined
}

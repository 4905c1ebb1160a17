// A folder as a source: each file "<key>.json" is an object. docs/how-to/writing-an-adapter.md explains it step by step.
//   node examples/folder-source.ts ./flags      (copy it out of node_modules: Node runs no TypeScript there)
import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createInformer, type ListerWatcher, SourceError } from 'listwatch'
import type { ListEvent } from 'listwatch/adapter'

interface Reading<T> {
  readonly events: readonly ListEvent<T>[]
  readonly version: string
}

export function folderSource<T>(folder: string, { pollMs = 1_000 } = {}): ListerWatcher<T> {
  return {
    name: `folder:${folder}`,
    heartbeatMs: pollMs + 5_000, // A look takes its time, too.
    async *list({ signal }) {
      yield await read<T>(folder, signal)
    },
    async *watch({ after, signal, clock }) {
      for (let version = after; ; await clock.sleep(pollMs, signal)) {
        const { events, version: now } = await read<T>(folder, signal)
        const entries = events.filter((event) => event.type === 'put')
        const invalid = events.filter((event) => event.type === 'invalid')
        yield { events: now === version ? [] : [{ type: 'replace', entries }, ...invalid], version: now }
        version = now
      }
    },
  }
}

/** One consistent snapshot: two looks, one after the other, that saw the same. */
async function read<T>(folder: string, signal: AbortSignal): Promise<Reading<T>> {
  for (let before: string | undefined; ; ) {
    const texts = await look(folder, signal)
    const version = createHash('sha256').update(JSON.stringify(texts)).digest('hex')
    if (version === before) return { events: texts.map(([key, text]) => decode<T>(key, text)), version }
    before = version
  }
}

async function look(folder: string, signal: AbortSignal): Promise<(readonly [key: string, text: string])[]> {
  try {
    const texts: (readonly [string, string])[] = []
    for (const file of (await readdir(folder)).filter((name) => name.endsWith('.json')).sort()) {
      const text = await readFile(join(folder, file), { encoding: 'utf8', signal }).catch(unlessGone)
      if (text !== undefined) texts.push([file.slice(0, -'.json'.length), text])
    }
    return texts
  } catch (error) {
    signal.throwIfAborted()
    const code = codeOf(error) === 'ENOENT' ? 'NOT_FOUND' : codeOf(error) === 'EACCES' ? 'UNAUTHORIZED' : 'UNAVAILABLE'
    throw new SourceError(`cannot read ${folder}`, { code, cause: error })
  }
}

function decode<T>(key: string, text: string): ListEvent<T> {
  try {
    return { type: 'put', key, object: JSON.parse(text) }
  } catch (error) {
    return { type: 'invalid', key, error }
  }
}

/** A file may go between the moment the folder is read and the moment it is. */
function unlessGone(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const objects = createInformer({ source: folderSource(process.argv[2] ?? '.') })
  process.once('SIGINT', () => void objects.stop())
  objects.on('error', (error) => console.error(error.message)).start()
  for await (const { changes } of objects.changes()) for (const { type, key } of changes) console.log(type, key)
}

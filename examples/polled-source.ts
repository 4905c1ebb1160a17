// A source of your own: an HTTP endpoint that returns a list. It is polled, and parsed only if its ETag has changed.
//   node examples/polled-source.ts http://localhost:8080/countries      (copy it out of node_modules: Node runs no TypeScript there)
import { once } from 'node:events'
import { createInformer, type ListerWatcher, SourceError } from 'listwatch'
import type { Entry } from 'listwatch/adapter'

interface Country {
  readonly code: string
  readonly name: string
}

interface Reading {
  readonly entries: readonly Entry<Country>[]
  readonly version: string
}

export function countriesAt(url: string, pollMs: number): ListerWatcher<Country> {
  const read = async (signal: AbortSignal, known?: string): Promise<Reading | undefined> => {
    const response = await fetch(url, { signal, headers: known === undefined ? {} : { 'if-none-match': known } })
    if (response.status === 304) return undefined
    if (!response.ok) {
      const retryAfterMs = Number(response.headers.get('retry-after')) * 1_000
      throw new SourceError(`GET ${url} answered ${response.status}`, { code: 'UNAVAILABLE', retryAfterMs })
    }
    const countries = (await response.json()) as readonly Country[]
    const entries = countries.map((object) => ({ key: object.code, object }))
    return { entries, version: response.headers.get('etag') ?? new Date().toISOString() }
  }
  return {
    name: `http:${url}`,
    heartbeatMs: 2 * pollMs,
    async *list({ signal }) {
      const { entries = [], version = '' } = (await read(signal)) ?? {}
      yield { events: entries.map((entry) => ({ type: 'put', ...entry })), version }
    },
    async *watch({ after, signal, clock }) {
      for (let version = after; ; await clock.sleep(pollMs, signal)) {
        const changed = await read(signal, version)
        version = changed?.version ?? version
        yield { events: changed === undefined ? [] : [{ type: 'replace', entries: changed.entries }], version }
      }
    },
  }
}

const countries = createInformer({ source: countriesAt(process.argv[2] ?? '', 1_000) })
countries.on('error', (error) => console.error(error.message))
countries.subscribe({
  add: ({ object }) => console.log('+', object.name),
  update: ({ object, previous }) => console.log('~', previous.name, '→', object.name),
  delete: ({ object }) => console.log('-', object.name),
})
await countries.start().synced()
await once(process, 'SIGINT')
await countries.stop()

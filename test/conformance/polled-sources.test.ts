import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import { afterAll } from 'vitest'
import { type ListerWatcher, SourceError } from '../../src/index.js'
import { type ConformanceCapability, describeListerWatcher } from '../../testing/index.js'
import { blocksOf } from '../support/documents.js'
import { listening } from '../support/listening.js'

/** What the examples call a country: `name` is the value that the conformance cases write. */
type Country = { readonly code: string; readonly name: string }

const POLL_MS = 10

/** The value of a variable after the TypeScript code has run, with these arguments and short poll intervals. */
function definedBy(variable: string, code: string, args: Readonly<Record<string, unknown>>): unknown {
  const short = code.replace(/^import .*$/gm, '').replaceAll(/\b[36]0_000\b/g, String(POLL_MS))
  const define = new Function(...Object.keys(args), `${stripTypeScriptTypes(short)}\nreturn ${variable}`)
  return define(...Object.values(args))
}

function definitionIn(document: string, variable: string): string {
  const block = blocksOf([document]).find(({ text }) => text.includes(`const ${variable}: ListerWatcher<Country>`))
  if (block === undefined) throw new Error(`${document} does not define ${variable}`)
  return block.text
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

/** The countries of an endpoint that is polled. */
class Endpoint {
  readonly #countries = new Map<string, Country>()

  get countries(): Country[] {
    return [...this.#countries.values()]
  }

  get etag(): string {
    return `"${createHash('sha256').update(JSON.stringify(this.countries)).digest('hex')}"`
  }

  write(changes: readonly { readonly key: string; readonly value: string | undefined }[]): undefined {
    for (const { key, value } of changes) {
      if (value === undefined) this.#countries.delete(key)
      else this.#countries.set(key, { code: key, name: value })
    }
  }
}

async function describePolled(title: string, sourceOf: (endpoint: Endpoint) => ListerWatcher<Country>): Promise<void> {
  await describeListerWatcher(title, {
    create() {
      const endpoint = new Endpoint()
      return { source: sourceOf(endpoint), read: ({ name }) => name, write: (changes) => endpoint.write(changes) }
    },
    unsupported,
  })
}

await describePolled('the polled source of docs/how-to/read-follow-wait.md', (endpoint) => {
  const read = async (signal: AbortSignal, known?: string) => {
    signal.throwIfAborted()
    const { etag: version, countries } = endpoint
    const entries = countries.map((object) => ({ key: object.code, object }))
    return version === known ? undefined : { entries, version }
  }
  const code = definitionIn('docs/how-to/read-follow-wait.md', 'countries')
  return definedBy('countries', code, { read }) as ListerWatcher<Country>
})

// With the fetch of Node: it keeps listeners on the signal until a garbage collection.
const endpoints = new Map<string, Endpoint>()
const server = createServer((request, response) => {
  const endpoint = endpoints.get(request.url ?? '')
  const { etag = '', countries = [] } = endpoint ?? {}
  const isKnown = request.headers['if-none-match'] === etag
  response.writeHead(isKnown ? 304 : 200, { etag }).end(isKnown ? undefined : JSON.stringify(countries))
})
const address = await listening(server)
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

await describePolled('the source of examples/polled-source.ts', (endpoint) => {
  const path = `/${endpoints.size}`
  endpoints.set(path, endpoint)
  const example = readFileSync('examples/polled-source.ts', 'utf8')
  const [definition = ''] = example.split('\nconst countries = createInformer(')
  const code = definition.replace('export function', 'function')
  type CountriesAt = (url: string, pollMs: number) => ListerWatcher<Country>
  return (definedBy('countriesAt', code, { SourceError }) as CountriesAt)(`${address}${path}`, POLL_MS)
})

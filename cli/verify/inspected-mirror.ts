import { digestOf, jsonOf, type MirrorPosition, type ObjectDigest } from '../../inspector/internal.js'
import { messageOf } from '../../src/contract/errors.js'
import type { Version } from '../../src/contract/version.js'
import { changedFields, fieldOf } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import type { Mirror, MirrorView } from './compare-mirror.js'

/** The address of an inspector, and the informer to ask for. */
export interface InspectedMirrorOptions {
  /** `http://127.0.0.1:40123/#token=…`, as the inspector prints it; the path is ignored. */
  readonly address: string
  /** The name of the informer, if the inspector shows several. */
  readonly informer?: string | undefined
  /** Compares keys only. */
  readonly keysOnly: boolean
  readonly signal: AbortSignal
}

const ADDRESS = '--against needs the address that the inspector prints: http://127.0.0.1:40123/#token=…'

/** A mirror in another process, which shows itself by its inspector. */
export class InspectedMirror implements Mirror {
  readonly #origin: string
  readonly #token: string
  readonly #options: InspectedMirrorOptions

  /** @throws CliError for an address without a token. */
  constructor(options: InspectedMirrorOptions) {
    const { address } = options
    if (!/^https?:\/\//.test(address) || !URL.canParse(address)) throw new CliError(ADDRESS)
    const { origin, hash } = new URL(address)
    const token = new URLSearchParams(hash.slice(1)).get('token') ?? process.env['LISTWATCH_TOKEN']
    if (token === undefined) throw new CliError(`${ADDRESS}, or with the token in LISTWATCH_TOKEN`)
    this.#origin = origin
    this.#token = token
    this.#options = options
  }

  async view(): Promise<MirrorView> {
    const response = await this.#get('digests', {})
    return response.status === 409 ? this.#refuse(response) : await this.#read(response)
  }

  async viewAfter(version: Version): Promise<MirrorView | undefined> {
    const response = await this.#get('digests', { reached: version })
    return response.status === 409 ? undefined : await this.#read(response)
  }

  async #get(path: string, parameters: Readonly<Record<string, string>>): Promise<Response> {
    const { informer, signal } = this.#options
    const query = new URLSearchParams({ ...parameters, ...(informer === undefined ? {} : { informer }) })
    const headers = { authorization: `Bearer ${this.#token}` }
    const response = await fetch(`${this.#origin}/api/${path}?${query}`, { headers, signal }).catch(
      (error: unknown) => {
        if (signal.aborted) throw error
        throw new CliError(`no inspector answers at ${this.#origin}: ${messageOf(fieldOf(error, 'cause') ?? error)}`)
      },
    )
    if (response.ok || response.status === 409) return response
    return this.#refuse(response)
  }

  async #refuse(response: Response): Promise<never> {
    const reason = fieldOf(await response.json().catch(() => undefined), 'error')
    throw new CliError(`${this.#origin} refuses the request: ${String(reason ?? response.status)}`)
  }

  /** @throws CliError for a response that ends early, or that is not that of an inspector. */
  async #read(response: Response): Promise<MirrorView> {
    try {
      return await this.#viewOf(response)
    } catch (error) {
      if (error instanceof CliError || this.#options.signal.aborted) throw error
      const reason = messageOf(fieldOf(error, 'cause') ?? error)
      throw new CliError(`the response of ${this.#origin} ended early, or is not that of an inspector: ${reason}`)
    }
  }

  async #viewOf(response: Response): Promise<MirrorView> {
    const lines = linesOf(response)
    const { value: first = '' } = await lines.next()
    const { informer, versions, isSynced, invalid, showsSecrets } = positionIn(first)
    const [[sourceName, version] = [], another] = Object.entries(versions)
    if (!isSynced) throw new CliError(`the mirror ${informer} has not completed its first list`)
    if (another !== undefined)
      throw new CliError(`the mirror ${informer} has several sources, and can be compared with one only`)
    const objects = new Map<string, ObjectDigest>()
    for await (const line of lines) {
      const object = digestIn(line)
      objects.set(object[0], object)
    }
    const isInvalid = new Set(invalid)
    return {
      version,
      sourceName,
      has: (key) => objects.has(key),
      isInvalid: (key) => isInvalid.has(key),
      keys: () => objects.keys(),
      writeOf: (key) => objects.get(key)?.[2],
      isEqual: (key, object) => this.#options.keysOnly || objects.get(key)?.[1] === digestOf(object, showsSecrets),
      differingFields: async (key, object) => {
        const page: unknown = await (await this.#get('object', { key })).json()
        return changedFields(fieldOf(page, 'object'), jsonOf(object, showsSecrets))
      },
      [Symbol.dispose]: () => objects.clear(),
    }
  }
}

function positionIn(line: string): MirrorPosition {
  const position: unknown = JSON.parse(line)
  const { versions, invalid } = Object(position)
  if (typeof versions === 'object' && versions !== null && Array.isArray(invalid)) return position as MirrorPosition
  throw new TypeError('its first line has no versions')
}

function digestIn(line: string): ObjectDigest {
  const digest: unknown = JSON.parse(line)
  if (Array.isArray(digest) && typeof digest[0] === 'string') return digest as unknown as ObjectDigest
  throw new TypeError('a line is not a digest')
}

/** The lines of a response. */
async function* linesOf({ body }: Response): AsyncGenerator<string, undefined> {
  let rest = ''
  for await (const text of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}

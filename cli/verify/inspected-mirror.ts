import { digestOf, jsonOf, type MirrorPosition, type ObjectDigest } from '../../inspector/internal.js'
import { messageOf } from '../../src/contract/errors.js'
import { changedFields, fieldOf } from '../args/fields.js'
import { CliError } from '../output/cli-error.js'
import type { Mirror, MirrorView } from './compare-mirror.js'

export interface InspectedMirrorOptions {
  /** `http://127.0.0.1:40123/#token=…`, as the inspector prints it; the path is ignored. */
  readonly address: string
  readonly informer?: string | undefined
  readonly keysOnly: boolean
  readonly signal: AbortSignal
}

const ADDRESS = '--against needs the address that the inspector prints: http://127.0.0.1:40123/#token=…'

/** A mirror in another process, read from its inspector. Throws a CliError for an address without a token. */
export function inspectedMirror({ address, informer, keysOnly, signal }: InspectedMirrorOptions): Mirror {
  if (!/^https?:\/\//.test(address) || !URL.canParse(address)) throw new CliError(ADDRESS)
  const { origin, hash } = new URL(address)
  const token = new URLSearchParams(hash.slice(1)).get('token') ?? process.env['LISTWATCH_TOKEN']
  if (token === undefined) throw new CliError(`${ADDRESS}, or with the token in LISTWATCH_TOKEN`)
  const refuse = async (response: Response): Promise<never> => {
    const reason = fieldOf(await response.json().catch(() => undefined), 'error')
    throw new CliError(`${origin} refuses the request: ${String(reason ?? response.status)}`)
  }
  const get = async (path: string, parameters: Readonly<Record<string, string>>): Promise<Response> => {
    const query = new URLSearchParams({ ...parameters, ...(informer === undefined ? {} : { informer }) })
    const headers = { authorization: `Bearer ${token}` }
    const response = await fetch(`${origin}/api/${path}?${query}`, { headers, signal }).catch((error: unknown) => {
      if (signal.aborted) throw error
      throw new CliError(`no inspector answers at ${origin}: ${messageOf(fieldOf(error, 'cause') ?? error)}`)
    })
    return response.ok || response.status === 409 ? response : await refuse(response)
  }
  const viewOf = async (response: Response): Promise<MirrorView> => {
    const lines = linesOf(response)
    const { value: first = '' } = await lines.next()
    const { informer: name, versions, isSynced, invalid, showsSecrets } = positionIn(first)
    const [[sourceName, version] = [], another] = Object.entries(versions)
    if (!isSynced) throw new CliError(`the mirror ${name} has not completed its first list`)
    if (another !== undefined)
      throw new CliError(`the mirror ${name} has several sources, and can be compared with one only`)
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
      isEqual: (key, object) => keysOnly || objects.get(key)?.[1] === digestOf(object, showsSecrets),
      differingFields: async (key, object) => {
        const page: unknown = await (await get('object', { key })).json()
        return changedFields(fieldOf(page, 'object'), jsonOf(object, showsSecrets))
      },
      [Symbol.dispose]: () => objects.clear(),
    }
  }
  /** Throws a CliError for a response that ends early, or that is not that of an inspector. */
  const read = async (response: Response): Promise<MirrorView> => {
    try {
      return await viewOf(response)
    } catch (error) {
      if (error instanceof CliError || signal.aborted) throw error
      const reason = messageOf(fieldOf(error, 'cause') ?? error)
      throw new CliError(`the response of ${origin} ended early, or is not that of an inspector: ${reason}`)
    }
  }
  return {
    async view() {
      const response = await get('digests', {})
      return response.status === 409 ? await refuse(response) : await read(response)
    },
    async viewAfter(version) {
      const response = await get('digests', { reached: version })
      return response.status === 409 ? undefined : await read(response)
    },
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

async function* linesOf({ body }: Response): AsyncGenerator<string, undefined> {
  let rest = ''
  for await (const text of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  return undefined
}

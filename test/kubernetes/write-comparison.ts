import { Agent as HttpAgent, request as httpRequest, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { isDeepStrictEqual } from 'node:util'
import type { KubeConfigLike } from '../../adapters/kubernetes/index.js'
import { SeededRandom } from '../../testing/seeded-random.js'
import { isEmpty, type Json, type RandomKind, type RandomWrite, RandomWrites } from './random-writes.js'

const COLLECTIONS: Readonly<Record<RandomKind, string>> = {
  ConfigMap: '/api/v1/namespaces/default/configmaps',
  Widget: '/apis/example.com/v1/namespaces/default/widgets',
}
const WRITES = 25

/** The first write of a seed after which two servers differ. */
export interface Divergence {
  readonly seed: number
  readonly at: number
  readonly before: Json | undefined
  readonly write: RandomWrite
  readonly fake: Outcome
  readonly real: Outcome
}

/** Sends the same random writes to two servers until they differ. */
export async function divergenceOf(seed: number, fake: KubeServer, real: KubeServer): Promise<Divergence | undefined> {
  const random = new SeededRandom(seed)
  const kind = random.pick(['ConfigMap', 'Widget'] as const)
  const name = `seed-${seed}`
  const writes = new RandomWrites(random, kind, name)
  const sides = [new Side(fake, COLLECTIONS[kind], name), new Side(real, COLLECTIONS[kind], name)] as const
  for (let at = 0; at < WRITES; at++) {
    const before = sides[0].current
    const write = writes.next(before)
    const [fakeOutcome, realOutcome] = [await sides[0].send(write), await sides[1].send(write)]
    // The order of managers in `managedFields` depends on the second in which they wrote. A real server that changes it
    // stores the object again, although an apply changed only fields that are not stored.
    const isVague = write.hasIgnored === true && isDeepStrictEqual(fakeOutcome.stored, before)
    if (!isDeepStrictEqual(fakeOutcome, isVague ? { ...realOutcome, isChanged: fakeOutcome.isChanged } : realOutcome))
      return { seed, at, before, write, fake: fakeOutcome, real: realOutcome }
  }
  return undefined
}

/** The response to a write, and its effect. */
interface Outcome {
  readonly code: number
  readonly body: Json
  readonly stored: Json | undefined
  /** Whether it has another version. */
  readonly isChanged: boolean
  /** Whether it has another uid. */
  readonly isOther: boolean
}

type Answer = { readonly code: number; readonly body: Json }

export class KubeServer implements Disposable {
  readonly #config: KubeConfigLike
  readonly #agents = [new HttpAgent({ keepAlive: true }), new HttpsAgent({ keepAlive: true })] as const

  constructor(config: KubeConfigLike) {
    this.#config = config
  }

  async send(method: string, path: string, type = 'application/json', text?: string): Promise<Answer> {
    const { server = '' } = this.#config.getCurrentCluster() ?? {}
    const isSecure = server.startsWith('https')
    const options: RequestOptions = {}
    await this.#config.applyToHTTPSOptions(options)
    const length = text === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(text) }
    const headers = { ...options.headers, ...length, 'user-agent': 'one/1.0' }
    const agent = this.#agents[isSecure ? 1 : 0]
    return await new Promise((resolve, reject) => {
      const sent = (isSecure ? httpsRequest : httpRequest)(server + path, { ...options, method, headers, agent })
      sent.on('error', reject)
      sent.on('response', (response) => {
        const pieces: Buffer[] = []
        response.on('data', (piece: Buffer) => pieces.push(piece))
        response.on('error', reject)
        response.on('end', () => {
          const body = Buffer.concat(pieces).toString()
          resolve({ code: response.statusCode ?? 0, body: body.startsWith('{') ? JSON.parse(body) : { text: body } })
        })
      })
      sent.end(text)
    })
  }

  [Symbol.dispose](): void {
    for (const agent of this.#agents) agent.destroy()
  }
}

/** One object of one server: what it chooses itself is replaced by texts such as `$uid`. */
class Side {
  /** The object as it is stored; undefined if there is none. */
  current: Json | undefined
  readonly #server: KubeServer
  readonly #collection: string
  readonly #path: string
  readonly #known = new Map<string, string>()

  constructor(server: KubeServer, collection: string, name: string) {
    this.#server = server
    this.#collection = collection
    this.#path = `${collection}/${name}`
  }

  /** The answer to a write, and the object after it. */
  async send({ method, subresource, type, query, body }: RandomWrite): Promise<Outcome> {
    const part = subresource === undefined ? '' : `/${subresource}`
    const path = `${method === 'POST' ? this.#collection : this.#path + part}?${new URLSearchParams(query)}`
    const text = body === undefined ? undefined : this.#filled(JSON.stringify(body))
    const answer = await this.#server.send(method, path, type, text)
    const stored = await this.#server.send('GET', this.#path)
    const metadata = (stored.code === 200 ? stored.body['metadata'] : {}) as Json
    const isChanged = metadata['resourceVersion'] !== this.#known.get('version')
    const isOther = metadata['uid'] !== this.#known.get('uid')
    if (isChanged && stored.code === 200) {
      this.#known.set('oldVersion', this.#known.get('version') ?? '1')
      this.#know(stored.body)
    }
    this.current = stored.code === 200 ? this.#neutral(stored.body) : undefined
    return { code: answer.code, body: this.#neutral(answer.body), stored: this.current, isChanged, isOther }
  }

  #filled(text: string): string {
    return text.replace(/"\$(\w+)"/g, (_all, name: string) => JSON.stringify(this.#known.get(name) ?? '1'))
  }

  #know({ metadata }: { readonly metadata?: unknown }): void {
    const { uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata as Json
    this.#known.set('uid', String(uid))
    this.#known.set('version', String(resourceVersion))
    this.#known.set('created', String(creationTimestamp))
    this.#known.set('deleted', String(deletionTimestamp))
  }

  /** Without empty metadata: a real server returns that of an apply, and drops it later. */
  #neutral(body: Json): Json {
    if (body['kind'] === 'Status') {
      const { status, reason, details } = body
      const { causes } = (details ?? {}) as { readonly causes?: readonly Json[] }
      const conflicts = (causes ?? [])
        .filter((cause) => cause['reason'] === 'FieldManagerConflict')
        .map(({ field, message }) => `${field}: ${message}`)
      return { status, reason, conflicts: conflicts.sort() }
    }
    const metadata = Object.entries((body['metadata'] ?? {}) as Json)
      .filter(([name, value]) => name !== 'managedFields' && !isEmpty(value))
      .map(([name, value]) => [name, OWN.has(name) && value !== undefined ? `$${OWN.get(name)}` : value])
    return { ...body, metadata: Object.fromEntries(metadata) }
  }
}

/** Metadata that each server chooses itself. */
const OWN = new Map([
  ['uid', 'uid'],
  ['resourceVersion', 'version'],
  ['creationTimestamp', 'created'],
  ['deletionTimestamp', 'deleted'],
])

import { Agent, request } from 'node:https'
import { text as textOf } from 'node:stream/consumers'
import { isRecord } from './record.js'

/** An object of Kubernetes, as far as tests look into it. */
export interface KubeObject {
  readonly apiVersion?: string
  readonly kind?: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid?: string
    readonly resourceVersion?: string
    readonly labels?: Readonly<Record<string, string>>
  }
  readonly [field: string]: unknown
}

/** The fields that tests write; the server adds the others. */
export type KubeDraft = { readonly metadata: { readonly name: string; readonly labels?: Record<string, string> } } & {
  readonly [field: string]: unknown
}

export type KubeAccess = { readonly port: number; readonly token: string; readonly ca: Buffer }

/** An answer that was not 2xx. */
export class KubeRefusal extends Error {
  readonly status: number

  constructor(call: string, status: number, text: string) {
    super(`${call}: ${status} ${text.slice(0, 300)}`)
    this.status = status
  }
}

/** How many calls of one `many` are on their way at once. */
const PARALLEL = 32

/** Writes to an API server, and says what it has: what tests hold a mirror against, so it shares nothing with it. */
export class KubeClient implements Disposable {
  readonly #access: KubeAccess
  readonly #agent: Agent

  constructor(access: KubeAccess) {
    this.#access = access
    this.#agent = new Agent({ keepAlive: true, maxSockets: PARALLEL, ca: access.ca })
  }

  async create(collection: string, draft: KubeDraft): Promise<KubeObject> {
    return objectOf(await this.call('POST', collection, draft))
  }

  async read(path: string): Promise<KubeObject> {
    return objectOf(await this.call('GET', path))
  }

  async update(path: string, object: KubeDraft): Promise<KubeObject> {
    return objectOf(await this.call('PUT', path, object))
  }

  /** A merge patch: what is `null` goes. */
  async patch(path: string, change: unknown): Promise<KubeObject> {
    return objectOf(await this.call('PATCH', path, change))
  }

  async delete(path: string): Promise<void> {
    await this.call('DELETE', path, { gracePeriodSeconds: 0 })
  }

  async deleteCollection(collection: string, labelSelector?: string): Promise<void> {
    const query = labelSelector === undefined ? '' : `?labelSelector=${encodeURIComponent(labelSelector)}`
    await this.call('DELETE', collection + query, { gracePeriodSeconds: 0 })
  }

  /** All of a collection as the database has it now, and the version of that. */
  async list(collection: string): Promise<{ readonly items: readonly KubeObject[]; readonly version: string }> {
    const list = await this.call('GET', collection)
    const items = isRecord(list) ? list['items'] : undefined
    const metadata = isRecord(list) ? list['metadata'] : undefined
    const version = isRecord(metadata) ? metadata['resourceVersion'] : undefined
    if (!Array.isArray(items) || typeof version !== 'string') throw new Error(`${collection} returned no list`)
    return { items: items.map(objectOf), version }
  }

  async many<R>(count: number, work: (at: number) => Promise<R>): Promise<R[]> {
    const results: R[] = []
    let next = 0
    const run = async (): Promise<void> => {
      for (let at = next++; at < count; at = next++) results[at] = await work(at)
    }
    await Promise.all(Array.from({ length: Math.min(PARALLEL, count) }, run))
    return results
  }

  /** Sends any request; PATCH with a merge patch, or with an array as a JSON patch. Rejects with a KubeRefusal if the response is not 2xx. */
  call(method: string, path: string, body?: unknown): Promise<unknown> {
    const { port, token, ca } = this.#access
    const patch = Array.isArray(body) ? 'application/json-patch+json' : 'application/merge-patch+json'
    const type = method === 'PATCH' ? patch : 'application/json'
    const text = body === undefined ? undefined : JSON.stringify(body)
    return new Promise((resolve, reject) => {
      const headers: Record<string, string | number> = { authorization: `Bearer ${token}`, accept: 'application/json' }
      if (text !== undefined) {
        headers['content-type'] = type
        headers['content-length'] = Buffer.byteLength(text) // Node does not set it for a DELETE.
      }
      const options = { host: '127.0.0.1', port, path, method, headers, ca, agent: this.#agent }
      const outgoing = request(options, (answer) => {
        textOf(answer).then((said) => {
          const status = answer.statusCode ?? 0
          if (status < 200 || status > 299) reject(new KubeRefusal(`${method} ${path}`, status, said))
          else resolve(said.startsWith('{') ? JSON.parse(said) : said)
        }, reject)
      })
      outgoing.setTimeout(30_000, () => outgoing.destroy(new Error(`${method} ${path}: no answer for 30 s`)))
      outgoing.on('error', reject)
      outgoing.end(text)
    })
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

function objectOf(value: unknown): KubeObject {
  const metadata = isRecord(value) ? value['metadata'] : undefined
  if (!isRecord(metadata) || typeof metadata['name'] !== 'string') throw new Error('the server returned no object')
  return value as KubeObject
}

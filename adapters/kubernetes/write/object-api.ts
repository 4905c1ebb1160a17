import { systemClock } from '../../../src/contract/clock.js'
import { unlessAborted } from '../../../src/util/abort-listeners.js'
import { apiStatusIn } from '../http/api-error.js'
import { type ApiRequest, ApiSession } from '../http/api-session.js'
import type { Credentials } from '../http/credentials.js'
import { findResource, groupPath, type Resource, resourcePath } from '../http/discovery.js'
import { type KubernetesReference, namesOf } from './object-types.js'

const MAX_SOCKETS = 32

export interface ObjectRequest {
  readonly verb: 'get' | 'patch'
  /** All verbs that the caller needs, for the error of a missing right. */
  readonly verbs: readonly string[]
  readonly subresource?: 'status'
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly contentType?: string
  readonly signal?: AbortSignal | undefined
}

/** Requests for single objects, over connections that are kept. Rejects with a SourceError, or the signal's reason. */
export class ObjectApi {
  readonly #session: ApiSession
  /** The resources by apiVersion and kind. A failed discovery is not kept. */
  readonly #resources = new Map<string, Promise<Resource>>()

  constructor(credentials: Credentials, { timeoutMs }: { readonly timeoutMs: number }) {
    const { signal } = new AbortController()
    this.#session = new ApiSession(credentials, { signal, clock: systemClock, timeoutMs, maxSockets: MAX_SOCKETS })
  }

  /** Sends a request for an object. `call` names the function that the user called. */
  async object(call: string, object: KubernetesReference, request: ObjectRequest): Promise<unknown> {
    const { apiVersion, kind, name, namespace } = namesOf(call, object)
    const { verb, verbs, subresource, query = {}, body, contentType, signal } = request
    const resource = await unlessAborted(signal, () => this.#resource(apiVersion, kind))
    if (resource.isNamespaced && namespace === undefined)
      throw new TypeError(`${call}: the object has no metadata.namespace, which ${resource.plural} have`)
    const scope = resource.isNamespaced ? namespace : undefined
    const suffix = subresource === undefined ? '' : `/${subresource}`
    const parameters = new URLSearchParams(query).toString()
    const path = `${resourcePath(resource, scope)}/${encodeURIComponent(name)}${suffix}`
    try {
      return await this.send({
        verb,
        verbs,
        group: resource.group,
        plural: `${resource.plural}${suffix}`,
        namespace: scope,
        path: parameters === '' ? path : `${path}?${parameters}`,
        ...(body === undefined ? {} : { body }),
        ...(contentType === undefined ? {} : { contentType }),
        ...(signal === undefined ? {} : { signal }),
      })
    } catch (error) {
      // The resource may be another one by now.
      if (apiStatusIn(error)?.code === 404) this.#resources.delete(keyOf(apiVersion, kind))
      throw error
    }
  }

  async send(request: ApiRequest): Promise<unknown> {
    return await unlessAborted(request.signal, () => this.#session.json(request))
  }

  #resource(apiVersion: string, kind: string): Promise<Resource> {
    const key = keyOf(apiVersion, kind)
    const known = this.#resources.get(key)
    if (known !== undefined) return known
    const found = findResource(this.#session, { apiVersion, kind, plural: undefined })
    this.#resources.set(key, found)
    found.catch(() => this.#resources.delete(key))
    return found
  }
}

function keyOf(apiVersion: string, kind: string): string {
  return `${groupPath(apiVersion)}/${kind}`
}

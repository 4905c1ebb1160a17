import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { KubeConfigLike } from '../../adapters/kubernetes/index.js'
import type { FakeFailure, FakeKubernetes, FakeKubernetesOptions, FakeRequest } from './fake-kubernetes-types.js'
import { type FakeObject, type FakeObjectDraft, type FakeReference, type Json, jsonOf } from './fake-object.js'
import { BUILT_IN, type FakeResource, type Target, targetOf } from './fake-resources.js'
import { badRequest, expired, notFound, Refusal } from './fake-status.js'
import { FakeStore, type Happening, type Names } from './fake-store.js'
import { jsonPatch, mergePatch } from './patches.js'

/**
 * Starts an API server of Kubernetes for tests, on a free port of 127.0.0.1. It lists in pages, watches with bookmarks
 * and 410, creates, updates, patches, deletes with finalizers, and has server-side apply and the subresource `status`.
 * Not for anything else: it has no authentication, schemas, selectors, streamed lists, admission, garbage collection
 * and controllers, and server-side apply takes each array as one field.
 *
 * @returns The server, which listens until it is disposed.
 * @throws Error if it cannot listen.
 *
 * @example
 * ```ts
 * import { createInformer } from 'listwatch'
 * import { kubernetesSource } from 'listwatch/kubernetes'
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes({ resources: [{ apiVersion: 'example.com/v1', kind: 'Site', plural: 'sites' }] })
 * server.put({ apiVersion: 'example.com/v1', kind: 'Site', metadata: { name: 'shop', namespace: 'default' } })
 * const { kubeConfig } = server
 * const sites = createInformer({ source: kubernetesSource({ kubeConfig, apiVersion: 'example.com/v1', kind: 'Site' }) })
 * await sites.start().synced()
 * console.log(sites.get('default/shop'))
 * await sites.stop()
 * ```
 */
export async function fakeKubernetes(options: FakeKubernetesOptions = {}): Promise<FakeKubernetes> {
  const server = createServer({ requestTimeout: 0, keepAliveTimeout: 0 })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return new HttpServer(server, port, [...(options.resources ?? []), ...BUILT_IN])
}

interface Watch {
  readonly response: ServerResponse
  readonly target: Target
}

interface Call {
  readonly request: FakeRequest
  readonly query: URLSearchParams
  readonly contentType: string
  readonly body: unknown
  readonly response: ServerResponse
}

class HttpServer implements FakeKubernetes {
  readonly kubeConfig: KubeConfigLike
  readonly kubeConfigOptions: FakeKubernetes['kubeConfigOptions']
  readonly requests: FakeRequest[] = []
  readonly #server: Server
  readonly #resources: readonly FakeResource[]
  readonly #store = new FakeStore()
  readonly #sockets = new Set<Socket>()
  readonly #watches = new Set<Watch>()
  readonly #failures: { isMeant: (request: FakeRequest) => boolean; failure: FakeFailure }[] = []
  /** The rest of lists in pages, by their token. */
  readonly #pages = new Map<string, { readonly version: number; readonly left: readonly FakeObject[] }>()

  constructor(server: Server, port: number, resources: readonly FakeResource[]) {
    this.#server = server
    this.#resources = resources
    const url = `http://127.0.0.1:${port}`
    this.kubeConfig = {
      getCurrentContext: () => 'fake',
      getCurrentCluster: () => ({ server: url }),
      applyToHTTPSOptions: async () => {},
    }
    this.kubeConfigOptions = {
      clusters: [{ name: 'fake', server: url, skipTLSVerify: true }],
      users: [{ name: 'fake', token: 'fake' }],
      contexts: [{ name: 'fake', cluster: 'fake', user: 'fake' }],
      currentContext: 'fake',
    }
    this.#store.onChange = (happening) => this.#report(happening)
    server.on('connection', (socket) => {
      this.#sockets.add(socket)
      socket.on('close', () => this.#sockets.delete(socket))
    })
    server.on('request', (request, response) => void this.#take(request, response))
  }

  get watches(): number {
    return this.#watches.size
  }

  put(draft: FakeObjectDraft): FakeObject {
    const names = this.#namesOf(draft)
    const write = { manager: 'test' }
    const { status, ...rest } = draft
    if (this.#store.get(names) === undefined) this.#store.create(names, rest, write)
    const { resourceVersion: _version, uid: _uid, ...metadata } = jsonOf(rest['metadata'])
    const written = this.#store.update(names, { ...rest, metadata }, write)
    return status === undefined ? written : this.#store.update(names, { status }, { ...write, subresource: 'status' })
  }

  get(reference: FakeReference): FakeObject | undefined {
    return this.#store.get(this.#namesOf(reference))
  }

  list(apiVersion: string, kind: string): readonly FakeObject[] {
    return this.#store.list(this.#resource(apiVersion, kind), undefined)
  }

  delete(reference: FakeReference): void {
    this.#store.delete(this.#namesOf(reference))
  }

  bookmark(): void {
    for (const { response, target } of this.#watches) {
      const { apiVersion, kind } = target.resource
      const metadata = { resourceVersion: String(this.#store.version), creationTimestamp: null }
      sendEvent(response, 'BOOKMARK', { apiVersion, kind, metadata })
    }
  }

  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#watches.clear()
  }

  compact(): void {
    this.#store.compact()
    this.#pages.clear()
    this.disconnect()
  }

  failNext(isMeant: (request: FakeRequest) => boolean, failure: FakeFailure): void {
    this.#failures.push({ isMeant, failure })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.disconnect()
    await closed
  }

  #resource(apiVersion: string, kind: string): FakeResource {
    const found = this.#resources.find((each) => each.apiVersion === apiVersion && each.kind === kind)
    if (found === undefined) throw new TypeError(`fakeKubernetes: ${kind} of ${apiVersion} is not served`)
    return found
  }

  #namesOf({ apiVersion, kind, metadata: { name, namespace } }: FakeReference): Names {
    const resource = this.#resource(apiVersion, kind)
    const isNamespaced = resource.isNamespaced ?? true
    if (isNamespaced !== (namespace !== undefined))
      throw new TypeError(`fakeKubernetes: ${kind} ${name} ${isNamespaced ? 'needs a' : 'has no'} namespace`)
    return { resource, namespace, name }
  }

  async #take(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {})
    const url = new URL(incoming.url ?? '/', 'http://fake')
    const { method = 'GET', headers } = incoming
    const request = { method, path: url.pathname, query: url.searchParams.toString() }
    try {
      const text = await textOf(incoming)
      this.requests.push(request)
      const contentType = headers['content-type'] ?? 'application/json'
      this.#failIfScripted(request, response)
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      this.#answer({ request, query: url.searchParams, contentType, body, response })
    } catch (error) {
      if (error instanceof Refusal) send(response, error.code, error.status)
      else if (error instanceof SyntaxError) send(response, 400, badRequest('the body is not JSON').status)
      else response.destroy(error instanceof Error ? error : undefined) // The client has closed the connection.
    }
  }

  #failIfScripted(request: FakeRequest, response: ServerResponse): void {
    const at = this.#failures.findIndex(({ isMeant }) => isMeant(request))
    const [scripted] = at === -1 ? [] : this.#failures.splice(at, 1)
    if (scripted === undefined) return
    const { code, reason = '', message = '', retryAfterSeconds } = scripted.failure
    if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds))
    throw new Refusal(code, reason, message)
  }

  #answer(call: Call): void {
    const { request, query, response } = call
    const target = targetOf(request.path, this.#resources)
    if ('discovery' in target) {
      send(response, 200, target.discovery)
      return
    }
    const isWatch = ['true', '1'].includes(query.get('watch') ?? '')
    if (query.has('labelSelector') || query.has('fieldSelector')) throw badRequest('the fake server has no selectors')
    if (target.name !== undefined) this.#answerObject(call, target, target.name)
    else if (request.method === 'POST') this.#create(call, target)
    else if (request.method !== 'GET') throw new Refusal(405, 'MethodNotAllowed', 'not supported')
    else if (isWatch) this.#watch(call, target)
    else this.#list(call, target)
  }

  #create({ body, query, response }: Call, { resource, namespace }: Target): void {
    const draft = jsonOf(body)
    const { name } = jsonOf(draft['metadata'])
    if (typeof name !== 'string') throw badRequest('the object has no metadata.name')
    const { status: _status, ...rest } = draft
    const created = this.#store.create({ resource, namespace, name }, rest, { manager: managerOf(query) })
    send(response, 201, created)
  }

  #answerObject({ request: { method }, query, contentType, body, response }: Call, target: Target, name: string): void {
    const names = { resource: target.resource, namespace: target.namespace, name }
    const { subresource } = target
    if (subresource !== undefined && subresource !== 'status') throw notFound(`the subresource ${subresource}`)
    const write = { manager: managerOf(query), subresource }
    const existing = this.#store.get(names)
    const isForced = query.get('force') === 'true'
    if (method === 'PATCH' && contentType === 'application/apply-patch+yaml') {
      const applied = this.#store.apply(names, jsonOf(body), { ...write, isForced })
      send(response, existing === undefined ? 201 : 200, applied)
      return
    }
    if (existing === undefined) throw notFound(`${target.resource.plural} "${name}"`)
    switch (method) {
      case 'GET':
        send(response, 200, existing)
        return
      case 'PUT':
        send(response, 200, this.#store.update(names, jsonOf(body), write))
        return
      case 'PATCH':
        send(response, 200, this.#store.update(names, patched(existing, body, contentType), write))
        return
      case 'DELETE':
        send(response, 200, this.#store.delete(names, jsonOf(jsonOf(body)['preconditions'])))
        return
      default:
        throw new Refusal(405, 'MethodNotAllowed', `${method} is not supported`)
    }
  }

  #list({ query, response }: Call, { resource, namespace }: Target): void {
    const limit = Number(query.get('limit') ?? 0) || Number.POSITIVE_INFINITY
    const { version, left } = this.#pageOf(query, resource, namespace)
    const more = left.slice(limit)
    const token = more.length === 0 ? undefined : `${version}.${this.#pages.size}`
    if (token !== undefined) this.#pages.set(token, { version, left: more })
    const { apiVersion, kind } = resource
    const remaining = token === undefined ? {} : { continue: token, remainingItemCount: more.length }
    send(response, 200, {
      kind: `${kind}List`,
      apiVersion,
      metadata: { resourceVersion: String(version), ...remaining },
      items: left.slice(0, limit),
    })
  }

  #pageOf(query: URLSearchParams, resource: FakeResource, namespace: string | undefined) {
    const token = query.get('continue') ?? ''
    const page = this.#pages.get(token)
    if (page !== undefined) return page
    if (token !== '') throw expired('the provided continue parameter is too old')
    const { version } = this.#store
    const requested = Number(query.get('resourceVersion') ?? 0)
    if (requested > version) {
      const message = `Too large resource version: ${requested}, current: ${version}`
      throw new Refusal(504, 'Timeout', message, { causes: [{ reason: 'ResourceVersionTooLarge', message }] })
    }
    if (query.get('resourceVersionMatch') === 'Exact' && requested !== version)
      throw expired(`too old resource version: ${requested} (${version})`)
    return { version, left: this.#store.list(resource, namespace) }
  }

  #watch({ query, response }: Call, target: Target): void {
    if (query.get('sendInitialEvents') === 'true')
      throw new Refusal(422, 'Invalid', 'sendInitialEvents is forbidden for watch')
    const from = Number(query.get('resourceVersion') ?? 0)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    const watch = { response, target }
    try {
      if (from === 0)
        for (const object of this.#store.list(target.resource, target.namespace)) sendEvent(response, 'ADDED', object)
      else for (const happening of this.#store.since(from)) reportTo(watch, happening)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      sendEvent(response, 'ERROR', error.status)
      response.end()
      return
    }
    this.#watches.add(watch)
    response.on('close', () => this.#watches.delete(watch))
  }

  #report(happening: Happening): void {
    for (const watch of this.#watches) reportTo(watch, happening)
  }
}

function reportTo({ response, target }: Watch, { type, resource, object }: Happening): void {
  const isMeant = target.namespace === undefined || target.namespace === object.metadata.namespace
  if (resource === target.resource && isMeant) sendEvent(response, type, object)
}

function patched(existing: FakeObject, body: unknown, contentType: string): Json {
  switch (contentType) {
    case 'application/json-patch+json':
      return jsonPatch(existing, body)
    // Strategic merge patches are taken as merge patches: lists are replaced.
    case 'application/strategic-merge-patch+json':
    case 'application/merge-patch+json': {
      // The version is a condition only if the patch has it.
      const { resourceVersion: _version, ...metadata } = existing.metadata
      return jsonOf(mergePatch({ ...existing, metadata }, body))
    }
    default:
      throw new Refusal(415, 'UnsupportedMediaType', `${contentType} is not supported`)
  }
}

function managerOf(query: URLSearchParams): string {
  return query.get('fieldManager') ?? 'unknown'
}

function send(response: ServerResponse, status: number, value: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(value))
}

function sendEvent(response: ServerResponse, type: string, object: object): void {
  response.write(`${JSON.stringify({ type, object })}\n`)
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks).toString()
}

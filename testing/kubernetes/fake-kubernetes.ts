import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FakeFailure, FakeKubernetes, FakeKubernetesOptions, FakeRequest } from './fake-kubernetes-types.js'
import { checkKind, metadataOf, type Names } from './fake-metadata.js'
import { BUILT_IN, type FakeResource, type Target, targetOf, traitsOf } from './fake-resources.js'
import { badRequest, expired, invalid, notAllowed, notFound, Refusal } from './fake-status.js'
import { FakeStore, type Happening, type Write } from './fake-store.js'
import { type FakeObject, type FakeReference, type Json, jsonOf } from './objects/fake-object.js'
import { jsonPatch, mergePatch, strategicMergePatch } from './objects/patches.js'

/**
 * Starts an API server of Kubernetes for tests, on a free port of 127.0.0.1. It lists in pages, watches with bookmarks
 * and 410, creates, updates, patches, deletes with finalizers, and has server-side apply and the subresource `status`.
 * A write has the same response and effect as at kube-apiserver 1.36; docs/how-to/controllers.md has the differences. Not for
 * anything else: it has no authentication, schemas, selectors, streamed lists, admission, garbage collection and
 * controllers.
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
  const url = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`
  const resources = [...(options.resources ?? []), ...BUILT_IN]
  const requests: FakeRequest[] = []
  const sockets = new Set<Socket>()
  const watches = new Set<Watch>()
  const failures: { isMeant: (request: FakeRequest) => boolean; failure: FakeFailure }[] = []
  /** The rest of lists in pages, by their token. */
  const pages = new Map<string, { readonly version: number; readonly left: readonly FakeObject[] }>()
  const store = new FakeStore()
  store.onChange = (happening) => {
    for (const watch of watches) reportTo(watch, happening)
  }

  const resourceOf = (apiVersion: string, kind: string): FakeResource => {
    const found = resources.find((each) => each.apiVersion === apiVersion && each.kind === kind)
    if (found === undefined) throw new TypeError(`fakeKubernetes: ${kind} of ${apiVersion} is not served`)
    return found
  }

  const namesOf = ({ apiVersion, kind, metadata: { name, namespace } }: FakeReference): Names => {
    const resource = resourceOf(apiVersion, kind)
    const isNamespaced = resource.isNamespaced ?? true
    if (isNamespaced !== (namespace !== undefined))
      throw new TypeError(`fakeKubernetes: ${kind} ${name} ${isNamespaced ? 'needs a' : 'has no'} namespace`)
    return { resource, namespace, name }
  }

  const failIfScripted = (request: FakeRequest, response: ServerResponse): void => {
    const at = failures.findIndex(({ isMeant }) => isMeant(request))
    const [scripted] = at === -1 ? [] : failures.splice(at, 1)
    if (scripted === undefined) return
    const { code, reason = '', message = '', retryAfterSeconds } = scripted.failure
    if (retryAfterSeconds !== undefined) response.setHeader('retry-after', String(retryAfterSeconds))
    throw new Refusal(code, reason, message)
  }

  const create = (call: Call, { resource, namespace }: Target): void => {
    const { body, response } = call
    if (namespace === undefined && resource.isNamespaced !== false)
      throw traitsOf(resource).isCustom ? notFound('the path') : notAllowed('POST')
    checkKind(resource, jsonOf(body), true)
    const { name } = metadataOf(jsonOf(body))
    if (typeof name !== 'string') throw invalid('metadata.name: required (the fake server does not generate names)')
    send(response, 201, store.create({ resource, namespace, name }, jsonOf(body), writeOf(call)))
  }

  const patch = ({ query, body, contentType, response }: Call, names: Names, write: Write): void => {
    if (contentType !== 'application/apply-patch+yaml') {
      const change = changeOf(contentType, body, traitsOf(names.resource).isCustom)
      if (query.has('force')) throw invalid('force: may not be specified for non-apply patch')
      send(response, 200, store.patch(names, change, write))
      return
    }
    if (!query.has('fieldManager')) throw invalid('fieldManager: is required for apply patch')
    const isNew = store.get(names) === undefined
    const object = store.apply(names, jsonOf(body), { ...write, isForced: query.get('force') === 'true' })
    send(response, isNew ? 201 : 200, object)
  }

  const remove = ({ query, body, response }: Call, names: Names): void => {
    const given = body === undefined ? Object.fromEntries(query) : jsonOf(body)
    const { finalizer, isAwaited } = deletionOf(given)
    const object = store.delete(names, { ...jsonOf(given['preconditions']), finalizer })
    const { resource, name } = names
    const isGone = store.get(names) === undefined
    const [group = ''] = resource.apiVersion.includes('/') ? resource.apiVersion.split('/') : []
    const details = { name, ...(group === '' ? {} : { group }), kind: resource.plural, uid: object.metadata.uid }
    const done = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
    send(response, isAwaited && !isGone ? 202 : 200, isGone && !traitsOf(resource).isReturned ? done : object)
  }

  const answerObject = (call: Call, target: Target, name: string): void => {
    const { request, body, response } = call
    const { resource, namespace, subresource } = target
    const { hasStatus } = traitsOf(resource)
    if (subresource !== undefined && !(hasStatus && subresource === 'status'))
      throw notFound(`the subresource ${subresource}`)
    const names = { resource, namespace, name }
    const write = writeOf(call, subresource)
    const { method } = request
    if (method === 'GET') send(response, 200, store.read(names))
    else if (method === 'PUT') send(response, 200, store.replace(names, jsonOf(body), write))
    else if (method === 'PATCH') patch(call, names, write)
    else if (method === 'DELETE') remove(call, names)
    else throw notAllowed(method)
  }

  const pageOf = (query: URLSearchParams, resource: FakeResource, namespace: string | undefined) => {
    const token = query.get('continue') ?? ''
    const page = pages.get(token)
    if (page !== undefined) return page
    if (token !== '') throw expired('the provided continue parameter is too old')
    const { version } = store
    const requested = Number(query.get('resourceVersion') ?? 0)
    if (requested > version) {
      const message = `Too large resource version: ${requested}, current: ${version}`
      throw new Refusal(504, 'Timeout', message, { causes: [{ reason: 'ResourceVersionTooLarge', message }] })
    }
    if (query.get('resourceVersionMatch') === 'Exact' && requested !== version)
      throw expired(`too old resource version: ${requested} (${version})`)
    return { version, left: store.list(resource, namespace) }
  }

  const list = ({ query, response }: Call, { resource, namespace }: Target): void => {
    const limit = Number(query.get('limit') ?? 0) || Number.POSITIVE_INFINITY
    const { version, left } = pageOf(query, resource, namespace)
    const more = left.slice(limit)
    const token = more.length === 0 ? undefined : `${version}.${pages.size}`
    if (token !== undefined) pages.set(token, { version, left: more })
    const remaining = token === undefined ? {} : { continue: token, remainingItemCount: more.length }
    const metadata = { resourceVersion: String(version), ...remaining }
    const { apiVersion, kind } = resource
    send(response, 200, { kind: `${kind}List`, apiVersion, metadata, items: left.slice(0, limit) })
  }

  const follow = ({ query, response }: Call, target: Target): void => {
    if (query.get('sendInitialEvents') === 'true')
      throw new Refusal(422, 'Invalid', 'sendInitialEvents is forbidden for watch')
    const from = Number(query.get('resourceVersion') ?? 0)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    const watch = { response, target }
    try {
      if (from === 0)
        for (const object of store.list(target.resource, target.namespace)) sendEvent(response, 'ADDED', object)
      else for (const happening of store.since(from)) reportTo(watch, happening)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      sendEvent(response, 'ERROR', error.status)
      response.end()
      return
    }
    watches.add(watch)
    response.on('close', () => watches.delete(watch))
  }

  const answer = (call: Call): void => {
    const { request, query, response } = call
    const target = targetOf(request.path, resources)
    if ('discovery' in target) {
      send(response, 200, target.discovery)
      return
    }
    const isWatch = ['true', '1'].includes(query.get('watch') ?? '')
    if (query.has('labelSelector') || query.has('fieldSelector')) throw badRequest('the fake server has no selectors')
    if (query.has('dryRun')) throw badRequest('the fake server has no dry runs')
    if (target.name !== undefined) answerObject(call, target, target.name)
    else if (request.method === 'POST') create(call, target)
    else if (request.method !== 'GET') throw notAllowed(request.method)
    else if (isWatch) follow(call, target)
    else list(call, target)
  }

  const take = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.on('error', () => {})
    const { pathname: path, searchParams: query } = new URL(incoming.url ?? '/', 'http://fake')
    const { method = 'GET', headers } = incoming
    const request = { method, path, query: query.toString() }
    try {
      const text = await textOf(incoming)
      requests.push(request)
      const { 'content-type': type = 'application/json', 'user-agent': userAgent = '' } = headers
      const [contentType = ''] = type.split(';') // Its parameters do not matter, such as the charset.
      failIfScripted(request, response)
      const body: unknown = text === '' ? undefined : JSON.parse(text)
      answer({ request, query, contentType, userAgent, body, response })
    } catch (error) {
      if (error instanceof Refusal) send(response, error.code, error.status)
      else if (error instanceof SyntaxError) send(response, 400, badRequest('the body is not JSON').status)
      else response.destroy(error instanceof Error ? error : undefined) // The client has closed the connection.
    }
  }

  const disconnect = (): void => {
    for (const socket of sockets) socket.destroy()
    watches.clear()
  }
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('request', (request, response) => void take(request, response))
  return {
    kubeConfig: {
      getCurrentContext: () => 'fake',
      getCurrentCluster: () => ({ server: url }),
      applyToHTTPSOptions: async () => {},
    },
    kubeConfigOptions: {
      clusters: [{ name: 'fake', server: url, skipTLSVerify: true }],
      users: [{ name: 'fake', token: 'fake' }],
      contexts: [{ name: 'fake', cluster: 'fake', user: 'fake' }],
      currentContext: 'fake',
    },
    requests,
    get watches() {
      return watches.size
    },
    put: (draft) => {
      const names = namesOf(draft)
      const write = { manager: 'test' }
      const { status, ...rest } = draft
      const replaced = ({ metadata: { uid, resourceVersion } }: FakeObject): Json => {
        return { ...rest, metadata: { ...jsonOf(rest['metadata']), uid, resourceVersion } }
      }
      const isMissing = store.get(names) === undefined
      const written = isMissing ? store.create(names, rest, write) : store.patch(names, replaced, write)
      if (status === undefined) return written
      return store.patch(names, (object) => ({ ...object, status }), { ...write, subresource: 'status' })
    },
    get: (reference) => store.get(namesOf(reference)),
    list: (apiVersion, kind) => store.list(resourceOf(apiVersion, kind), undefined),
    delete: (reference) => void store.delete(namesOf(reference)),
    bookmark: () => {
      for (const { response, target } of watches) {
        const { apiVersion, kind } = target.resource
        const metadata = { resourceVersion: String(store.version), creationTimestamp: null }
        sendEvent(response, 'BOOKMARK', { apiVersion, kind, metadata })
      }
    },
    disconnect,
    compact: () => {
      store.compact()
      pages.clear()
      disconnect()
    },
    failNext: (isMeant, failure) => void failures.push({ isMeant, failure }),
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      disconnect()
      await closed
    },
  }
}

interface Watch {
  readonly response: ServerResponse
  readonly target: Target
}

interface Call {
  readonly request: FakeRequest
  readonly query: URLSearchParams
  readonly contentType: string
  readonly userAgent: string
  readonly body: unknown
  readonly response: ServerResponse
}

function reportTo({ response, target }: Watch, { type, resource, object }: Happening): void {
  const isMeant = target.namespace === undefined || target.namespace === object.metadata.namespace
  if (resource === target.resource && isMeant) sendEvent(response, type, object)
}

function changeOf(contentType: string, patch: unknown, isCustom: boolean): (object: FakeObject) => Json {
  if (contentType === 'application/json-patch+json') return (object) => jsonPatch(object, patch)
  if (contentType === 'application/merge-patch+json') return (object) => jsonOf(mergePatch(object, patch))
  if (contentType === 'application/strategic-merge-patch+json' && !isCustom)
    return (object) => strategicMergePatch(object, patch)
  throw new Refusal(415, 'UnsupportedMediaType', `${contentType} is not supported`)
}

/** The finalizer of the garbage collector that the options of a deletion request: empty for none. */
function deletionOf({ propagationPolicy: policy, orphanDependents }: Json) {
  const isOrphan = orphanDependents === undefined ? undefined : String(orphanDependents) === 'true'
  const finalizer = isOrphan === undefined ? FINALIZERS.get(policy) : isOrphan ? 'orphan' : ''
  if (policy !== undefined && (isOrphan !== undefined || finalizer === undefined))
    throw invalid(`propagationPolicy: ${String(policy)} is not supported here`)
  return { finalizer, isAwaited: isOrphan === false }
}

const FINALIZERS = new Map<unknown, string>([
  ['Background', ''],
  ['Foreground', 'foregroundDeletion'],
  ['Orphan', 'orphan'],
])

/** Without a field manager, that is the program of the user agent. */
function writeOf({ query, userAgent }: Call, subresource?: string): Write {
  const [program = ''] = userAgent.split('/')
  return { manager: query.get('fieldManager') || program || 'unknown', subresource }
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

import { EXPIRED, type Exchange, TOO_LARGE } from './fake-exchange.js'

export interface FakeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace: string
    readonly uid: string
    readonly resourceVersion: string
    readonly [field: string]: unknown
  }
  readonly data?: unknown
}

interface Happening {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  readonly object: FakeObject
}

/** A collection with its history, which answers lists and watches as an API server does. */
export class FakeCollection {
  /** Whether a list may be streamed; one that may not is answered as servers answer that do not know how. */
  hasStreamedLists = true
  /** Most objects of a page, whatever the request says. */
  largestPage = Number.POSITIVE_INFINITY
  /** A hash of the schemas; undefined: the server publishes none. */
  schema: string | undefined
  /** The generation of the definition of the custom resource, which clients of an API with a dot read. */
  generation = 1
  /** What the schema adds to the data of every object that is read, without a new version of it. */
  defaults: Readonly<Record<string, unknown>> = {}
  #version = 1_000
  #oldest = 1_000
  readonly #objects = new Map<string, FakeObject>()
  readonly #history: Happening[] = []
  readonly #watches = new Set<Exchange>()
  #uids = 0

  get version(): string {
    return String(this.#version)
  }

  get names(): string[] {
    return [...this.#objects.keys()]
  }

  /** The open watches, without those that began as a list. */
  get watching(): readonly Exchange[] {
    return this.#open.filter(({ isStreamedList }) => !isStreamedList)
  }

  /** Returns its version. */
  put(name: string, n: number | string, metadata: Readonly<Record<string, unknown>> = {}): string {
    const before = this.#objects.get(name)
    this.#version++
    const object: FakeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name,
        namespace: 'default',
        uid: before?.metadata.uid ?? `uid-${++this.#uids}`,
        resourceVersion: this.version,
        creationTimestamp: '2026-01-02T03:04:05Z',
        ...metadata,
      },
      data: { n: String(n) },
    }
    this.#objects.set(name, object)
    this.#happened(before === undefined ? 'ADDED' : 'MODIFIED', object)
    return this.version
  }

  /** Another content at the same version, as in a restored history. */
  replace(name: string, n: number | string): void {
    const before = this.#objects.get(name)
    if (before === undefined) throw new Error(`there is no ${name}`)
    this.#objects.set(name, { ...before, data: { n: String(n) } })
  }

  delete(name: string): string {
    const before = this.#objects.get(name)
    if (before === undefined) throw new Error(`there is no ${name}`)
    this.#version++
    this.#objects.delete(name)
    this.#happened('DELETED', { ...before, metadata: { ...before.metadata, resourceVersion: this.version } })
    return this.version
  }

  /** Deletes these in one revision, as etcd does with all keys of a lease. Returns the version. */
  expire(...names: readonly string[]): string {
    this.#version++
    for (const name of names) {
      const before = this.#objects.get(name)
      if (before === undefined) throw new Error(`there is no ${name}`)
      this.#objects.delete(name)
      this.#happened('DELETED', { ...before, metadata: { ...before.metadata, resourceVersion: this.version } })
    }
    return this.version
  }

  fill(count: number): void {
    for (let at = 0; at < count; at++) this.put(`k${at}`, at)
  }

  pass(): string {
    this.#version++
    return this.version
  }

  compact(): void {
    this.#oldest = this.#version
  }

  /** A watch that hears no more of what happens: its bytes are the test's. */
  forget(watch: Exchange | undefined): void {
    if (watch !== undefined) this.#watches.delete(watch)
  }

  async bookmark(): Promise<void> {
    await Promise.all(this.watching.map((watch) => watch.bookmark(this.version)))
  }

  /** What it holds now, or held at that version, by name: as etcd keeps it, whatever was written when. */
  at(version: number = this.#version): FakeObject[] {
    return [...this.#held(version).values()]
      .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .map((object) => this.#defaulted(object))
  }

  #defaulted(object: FakeObject): FakeObject {
    return { ...object, data: { ...Object(object.data), ...this.defaults } }
  }

  #held(version: number): ReadonlyMap<string, FakeObject> {
    if (version >= this.#version) return this.#objects
    const objects = new Map(this.#objects)
    // From now backwards, as far as history goes.
    for (const { version: when, object } of [...this.#history].reverse()) {
      if (when <= version) break
      const earlier = this.#history.findLast(
        (other) => other.version < when && other.object.metadata.name === object.metadata.name,
      )
      if (earlier === undefined || earlier.type === 'DELETED') objects.delete(object.metadata.name)
      else objects.set(object.metadata.name, earlier.object)
    }
    return objects
  }

  answer(exchange: Exchange): void {
    if (exchange.path === '/api/v1')
      exchange.json({ kind: 'APIResourceList', groupVersion: 'v1', resources: RESOURCES })
    else if (exchange.path === '/apis/example.com/v1')
      exchange.json({ kind: 'APIResourceList', groupVersion: 'example.com/v1', resources: RESOURCES })
    else if (exchange.path.endsWith('/customresourcedefinitions/configmaps.example.com'))
      exchange.json({ metadata: { uid: 'definition', generation: this.generation } })
    else if (exchange.path === '/openapi/v3') this.#openApi(exchange)
    else if (exchange.isWatch) void this.#watch(exchange)
    else this.#list(exchange)
  }

  #openApi(exchange: Exchange): void {
    if (this.schema === undefined) exchange.refuse({ code: 404 })
    else {
      const urlOf = (api: string): object => ({ serverRelativeURL: `/openapi/v3/${api}?hash=${this.schema}` })
      exchange.json({ paths: { 'api/v1': urlOf('api/v1'), 'apis/example.com/v1': urlOf('apis/example.com/v1') } })
    }
  }

  #list(exchange: Exchange): void {
    const { query } = exchange
    const requested = query.get('resourceVersion') ?? ''
    const [token = '', from = '0'] = (query.get('continue') ?? '').split('.')
    const isExact = query.get('resourceVersionMatch') === 'Exact'
    const version = Number(token || (isExact ? requested : this.version))
    const refusal = version < this.#oldest ? EXPIRED : Number(requested) > this.#version ? TOO_LARGE : undefined
    if (refusal !== undefined) {
      exchange.refuse(refusal)
      return
    }
    const all = this.at(version)
    const limit = Math.min(this.largestPage, Number(query.get('limit') ?? 0) || all.length)
    const start = Number(from)
    const left = Math.max(0, all.length - start - limit)
    const more = left === 0 ? {} : { continue: `${version}.${start + limit}`, remainingItemCount: left }
    exchange.json({
      ...(exchange.isMetadata
        ? { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' }
        : { kind: 'ConfigMapList', apiVersion: 'v1' }),
      metadata: { resourceVersion: String(version), ...more },
      items: all.slice(start, start + limit).map((object) => shown(exchange, object)),
    })
  }

  async #watch(exchange: Exchange): Promise<void> {
    const { query, isStreamedList } = exchange
    if (isStreamedList && !this.hasStreamedLists) {
      exchange.refuse({ code: 422, reason: 'Invalid', message: 'sendInitialEvents is forbidden for watch' })
      return
    }
    const from = Number(query.get('resourceVersion') ?? 0)
    if (!isStreamedList && from > 0 && from < this.#oldest) {
      exchange.open()
      await exchange.error(EXPIRED)
      exchange.end()
      return
    }
    exchange.open()
    const isFromNow = isStreamedList || from === 0
    const version = this.version
    if (isFromNow) for (const object of this.at()) void exchange.event('ADDED', shown(exchange, object))
    else
      for (const { type, version: when, object } of this.#history)
        if (when > from) void exchange.event(type, shown(exchange, this.#defaulted(object)))
    if (isStreamedList) void exchange.bookmark(version, true)
    this.#watches.add(exchange)
  }

  #happened(type: Happening['type'], object: FakeObject): void {
    this.#history.push({ type, version: this.#version, object })
    for (const watch of this.#open) void watch.event(type, shown(watch, this.#defaulted(object)))
  }

  get #open(): readonly Exchange[] {
    return [...this.#watches].filter(({ isOpen }) => isOpen)
  }
}

const RESOURCES = [
  { name: 'configmaps', singularName: 'configmap', namespaced: true, kind: 'ConfigMap', verbs: ['list', 'watch'] },
]

function shown({ isMetadata }: Exchange, object: FakeObject): unknown {
  if (!isMetadata) return object
  return { apiVersion: 'meta.k8s.io/v1', kind: 'PartialObjectMetadata', metadata: object.metadata }
}

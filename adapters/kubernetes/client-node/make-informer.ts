import { OptionError } from '../../../src/contract/errors.js'
import { createInformer, type Informer } from '../../../src/informer/informer.js'
import type { KubernetesSource } from '../api-source.js'
import { isKubeConfig, type KubeConfigLike } from '../http/credentials.js'
import type { KubernetesSourceOptions } from '../kubernetes-options.js'
import { kubernetesSource } from '../kubernetes-source.js'
import type { KubernetesObject } from '../types/kubernetes-object.js'
import { compareList, keyOf, type ObjectIdentity } from './list-fn-check.js'

/** The informer of @kubernetes/client-node, as its users know it. A callback for `error` may say of its parameter what it likes. */
export interface ClientNodeInformer<T> {
  on(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void
  on(verb: 'error', callback: (error: Error) => void): void
  on(verb: 'error' | 'connect', callback: (error: never) => void): void
  off(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void
  off(verb: 'error', callback: (error: Error) => void): void
  off(verb: 'error' | 'connect', callback: (error: never) => void): void
  /** Resolves when the first list is in and told, or could not be read: then `error` is told, and it is tried again. Who starts what is starting waits for the same. */
  start(): Promise<void>
  /** Resolves when nothing more will be told. It can be started again. */
  stop(): Promise<void>
  get(name: string, namespace?: string): T | undefined
  list(namespace?: string): readonly T[]
  /** Where it is. */
  latestResourceVersion(): string
}

/** How long the mirror may take to get where `listFn` was, in milliseconds. */
const COMPARED_WITHIN_MS = 60_000

type Callback = (value?: unknown) => void

const VERBS = ['add', 'update', 'delete', 'error', 'connect'] as const
type Verb = (typeof VERBS)[number]

/**
 * `makeInformer` of @kubernetes/client-node with the same signature and events, on the engine of this library: it goes on
 * after errors, and misses no deletion. Everything is read from `path`, which may have a query (`?fieldSelector=…`), so that a
 * list and a watch cannot disagree about what is wanted. What `listFn` gives is not used: after the first list it is called once,
 * where there are at most 1 000 objects, and a process warning tells where it selects others. As with client-node, the objects
 * get their type from `listFn`; they are as the API server says them all the same: `Wire` is their exact type.
 */
export function makeInformer<T extends object = KubernetesObject>(
  kubeConfig: KubeConfigLike,
  path: string,
  listFn: () => Promise<{ readonly items: readonly T[] }>,
  labelSelector?: string,
): ClientNodeInformer<T>
/** The same of what you say that the objects are, as `Wire<V1Pod>`, whatever the type of `listFn` says. */
export function makeInformer<T extends object = KubernetesObject>(
  kubeConfig: KubeConfigLike,
  path: string,
  listFn: () => Promise<unknown>,
  labelSelector?: string,
): ClientNodeInformer<T>
export function makeInformer<T extends object = KubernetesObject>(
  kubeConfig: KubeConfigLike,
  path: string,
  listFn: () => Promise<unknown>,
  labelSelector?: string,
): ClientNodeInformer<T> {
  if (!isKubeConfig(kubeConfig))
    throw new OptionError('makeInformer: kubeConfig must be a KubeConfig of @kubernetes/client-node', {
      option: 'kubeConfig',
    })
  if (typeof listFn !== 'function')
    throw new OptionError('makeInformer: listFn must be a function', { option: 'listFn' })
  const options = { kubeConfig, stripManagedFields: false, ...selectionOf(path, labelSelector) }
  return new DropInInformer<T>(options, path, listFn)
}

class DropInInformer<T extends object> implements ClientNodeInformer<T> {
  readonly #options: KubernetesSourceOptions
  readonly #path: string
  /** Until it has been compared with what is mirrored. */
  #listFn: (() => Promise<unknown>) | undefined
  readonly #callbacks = new Map<Verb, Callback[]>(VERBS.map((verb) => [verb, []]))
  /** What has been told, by namespace and name; it outlives a stop. */
  readonly #objects = new Map<string, Map<string, T>>()
  /** What was told before a stop, and cannot be read now: the informer has nothing to tell of it where it is deleted. */
  readonly #unread = new Map<string, T>()
  #informer: Informer<T> | undefined
  /** Of `#informer`: the first list is in, or could not be read. */
  #started: Promise<void> | undefined
  #version = ''

  constructor(options: KubernetesSourceOptions, path: string, listFn: () => Promise<unknown>) {
    this.#options = options
    this.#path = path
    this.#listFn = listFn
  }

  on(verb: string, callback: (value: never) => void): void {
    for (const each of verbsOf(verb)) this.#callbacks.get(each)?.push(callback as Callback)
  }

  off(verb: string, callback: (value: never) => void): void {
    for (const each of verbsOf(verb)) {
      const callbacks = this.#callbacks.get(each) ?? []
      const at = callbacks.indexOf(callback as Callback)
      if (at !== -1) callbacks.splice(at, 1)
    }
  }

  async start(): Promise<void> {
    if (this.#informer === undefined) this.#started = this.#begin()
    await this.#started
  }

  async #begin(): Promise<void> {
    const informer: Informer<T> = createInformer({
      source: withBatchCallback(kubernetesSource<T>(this.#options), () => this.#forgetUnread(informer)),
      freeze: false,
    })
    this.#informer = informer
    this.#unread.clear()
    const isFirst = Promise.withResolvers<void>()
    informer.on('error', (error) => {
      this.#tell('error', error)
      isFirst.resolve()
    })
    informer.on('status', ({ state }, { state: previous }) => {
      if (state === 'listing' || state === 'relisting' || (state === 'connecting' && previous === 'backing-off'))
        this.#tell('connect', undefined)
    })
    const subscription = informer.subscribe({
      add: ({ object }) => {
        if (!this.#isKnown(object)) this.#put(object)
      },
      update: ({ object }) => this.#put(object),
      delete: ({ object }) => this.#remove(object),
    })
    informer.start()
    const synced = subscription.synced().then(
      () => {
        this.#forgetAllBut(informer)
        void this.#compare(informer)
      },
      () => {}, // It was stopped before.
    )
    await Promise.race([synced, isFirst.promise])
  }

  async stop(): Promise<void> {
    const informer = this.#informer
    this.#informer = undefined
    this.#version = informer?.version ?? this.#version
    await informer?.stop()
  }

  get(name: string, namespace = ''): T | undefined {
    return this.#objects.get(namespace)?.get(name)
  }

  list(namespace?: string): readonly T[] {
    if (namespace) return [...(this.#objects.get(namespace)?.values() ?? [])]
    return [...this.#objects.values()].flatMap((objects) => [...objects.values()])
  }

  latestResourceVersion(): string {
    return this.#informer?.version ?? this.#version
  }

  /** Whether it was told before a stop. What becomes something else while it runs is an update, also under the version that it had. */
  #isKnown(object: T): boolean {
    const { name, namespace, uid, resourceVersion } = metadataOf(object)
    const known = this.#objects.get(namespace)?.get(name)
    if (known === undefined) return false
    const before = metadataOf(known)
    return before.resourceVersion === resourceVersion && before.uid === uid
  }

  #put(object: T): void {
    const { name, namespace, uid } = metadataOf(object)
    const objects = this.#objects.get(namespace) ?? new Map<string, T>()
    const previous = objects.get(name)
    if (previous !== undefined && metadataOf(previous).uid !== uid) this.#remove(previous)
    this.#objects.set(namespace, objects)
    const isNew = !objects.has(name)
    objects.set(name, object)
    this.#tell(isNew ? 'add' : 'update', object)
  }

  #remove(object: T): void {
    const { name, namespace } = metadataOf(object)
    const objects = this.#objects.get(namespace)
    if (objects?.delete(name) !== true) return
    if (objects.size === 0) this.#objects.delete(namespace)
    this.#tell('delete', object)
  }

  /** What was deleted while it was stopped. */
  #forgetAllBut(informer: Informer<T>): void {
    if (this.#informer !== informer) return
    for (const object of this.list()) {
      const key = keyOf(object)
      if (informer.has(key)) continue
      if (informer.invalid.has(key)) this.#unread.set(key, object)
      else this.#remove(object)
    }
  }

  /** What could not be read, and is there no more; or it can be read again, and the informer tells. */
  #forgetUnread(informer: Informer<T>): void {
    if (this.#informer !== informer) return
    for (const [key, object] of this.#unread) {
      if (informer.invalid.has(key)) continue
      this.#unread.delete(key)
      if (!informer.has(key)) this.#remove(object)
    }
  }

  /** What only listFn selects, nobody would miss before it is too late. */
  async #compare(informer: Informer<T>): Promise<void> {
    const listFn = this.#listFn
    if (listFn === undefined || this.#informer !== informer) return
    this.#listFn = undefined
    const gone = new Set<string>()
    const subscription = informer.subscribe({ delete: ({ key }) => void gone.add(key) })
    const mirrored = {
      get size(): number {
        return informer.size
      },
      list: () => informer.list(),
      has: (key: string) => informer.has(key) || informer.invalid.has(key) || gone.has(key),
      reached: (version: string) => subscription.waitFor(version, { timeoutMs: COMPARED_WITHIN_MS }),
    }
    const difference = await compareList(mirrored, listFn).catch((error: unknown) => {
      this.#tell('error', error)
      return undefined
    })
    await subscription.close()
    if (difference === undefined || this.#informer !== informer) return
    process.emitWarning(
      `makeInformer: ${difference} at ${this.#path}, which is what is mirrored: what only listFn selects has to go into the path (?fieldSelector=…&labelSelector=…)`,
    )
  }

  /** A callback that throws harms no other; what it threw is an error like others. */
  #tell(verb: Verb, value: unknown): void {
    const callbacks = this.#callbacks.get(verb) ?? []
    if (verb === 'error' && callbacks.length === 0) process.emitWarning(value instanceof Error ? value : String(value))
    for (const callback of [...callbacks]) {
      try {
        callback(value)
      } catch (error) {
        if (verb === 'error') process.emitWarning(error instanceof Error ? error : String(error))
        else this.#tell('error', error)
      }
    }
  }
}

/** The same source; calls back after each batch that was taken. */
function withBatchCallback<T>(source: KubernetesSource<T>, taken: () => void): KubernetesSource<T> {
  return {
    name: source.name,
    heartbeatMs: source.heartbeatMs,
    list: (context) => source.list(context),
    async *watch(context) {
      for await (const batch of source.watch(context)) {
        yield batch
        taken()
      }
    },
    versions: (context) => source.versions(context),
    head: (context) => source.head(context),
    hasReached: (at, mark) => source.hasReached(at, mark),
  }
}

function verbsOf(verb: string): readonly Verb[] {
  if (verb === 'change') return ['add', 'update', 'delete']
  const known = VERBS.find((each) => each === verb)
  if (known === undefined) throw new TypeError(`Unknown verb: ${verb}; there are change, ${VERBS.join(', ')}`)
  return [known]
}

function metadataOf(object: object): { name: string; namespace: string; uid: string; resourceVersion: string } {
  const { name = '', namespace = '', uid = '', resourceVersion = '' } = (object as ObjectIdentity).metadata ?? {}
  return { name, namespace, uid, resourceVersion }
}

/** `/apis/apps/v1/namespaces/default/deployments?fieldSelector=…` */
function selectionOf(path: string, labelSelector: string | undefined): Omit<KubernetesSourceOptions, 'kubeConfig'> {
  const match = /^\/(?:api|apis\/([^/?]+))\/([^/?]+)(?:\/namespaces\/([^/?]+))?\/([^/?]+)(?:\?(.*))?$/.exec(path)
  if (match === null) {
    throw new TypeError(
      `makeInformer: path must be as /api/v1/namespaces/default/pods or /apis/apps/v1/deployments, got "${path}"`,
    )
  }
  const [, group, version = '', namespace, plural = '', query = ''] = match
  const parameters = new URLSearchParams(query)
  return {
    apiVersion: group === undefined ? version : `${group}/${version}`,
    plural,
    namespace,
    labelSelector: labelSelector || parameters.get('labelSelector') || undefined,
    fieldSelector: parameters.get('fieldSelector') || undefined,
  }
}

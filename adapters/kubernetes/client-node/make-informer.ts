import { OptionError, type SourceError } from '../../../src/contract/errors.js'
import { createInformer } from '../../../src/informer/create-informer.js'
import type { Informer } from '../../../src/informer/informer-types.js'
import { apiStatusIn } from '../http/api-error.js'
import { isKubeConfig, type KubeConfigLike } from '../http/credentials.js'
import type { KubernetesSourceOptions } from '../kubernetes-options.js'
import { kubernetesSource } from '../kubernetes-source.js'
import type { KubernetesObject } from '../types/kubernetes-object.js'
import type { KubernetesSource } from '../types/kubernetes-source-type.js'
import { compareList, identityOf, keyOf } from './list-fn-check.js'

/**
 * The informer of @kubernetes/client-node. An `error` callback may declare any type for its parameter.
 *
 * @example
 * ```ts
 * const informer = makeInformer(kubeConfig, '/api/v1/pods', () => core.listPodForAllNamespaces())
 * informer.on('change', (pod) => console.log(pod.metadata?.name, pod.status?.phase))
 * informer.on('error', (error) => console.error(error.message))
 * await informer.start()
 * console.log(informer.list('default').length, informer.get('web-0', 'default')?.spec?.nodeName)
 * await informer.stop()
 * ```
 */
export interface ClientNodeInformer<T> {
  /**
   * Adds a callback for changes of objects. `change` stands for `add`, `update` and `delete`.
   *
   * @throws TypeError for an unknown verb.
   */
  on(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void
  /**
   * Adds a callback for errors. Without one, errors are process warnings. If the server sent an HTTP status, it is the
   * `code` and the `statusCode` of the error, and the `SourceError` is its `cause`. Other errors are a `SourceError`.
   */
  on(verb: 'error', callback: (error: Error) => void): void
  /** Adds a callback for errors, or for the beginning of each connection attempt. */
  on(verb: 'error' | 'connect', callback: (error: never) => void): void
  /** Removes a callback; without effect if it was not added. */
  off(verb: 'add' | 'update' | 'delete' | 'change', callback: (object: T) => void): void
  /** Removes a callback for errors; without effect if it was not added. */
  off(verb: 'error', callback: (error: Error) => void): void
  /** Removes a callback for errors, or for the beginning of each connection attempt. */
  off(verb: 'error' | 'connect', callback: (error: never) => void): void
  /**
   * Starts the informer. Resolves when the first list is delivered, or when it failed: the `error` callbacks are then
   * called, and the list is retried. A call during a start waits for the same list.
   */
  start(): Promise<void>
  /** Stops the informer. Resolves after the last callback. It can be started again. */
  stop(): Promise<void>
  /** Returns an object by name, and by namespace unless its kind has none; undefined if it is not in the store. */
  get(name: string, namespace?: string): T | undefined
  /** Returns the objects of a namespace. Default: of all namespaces. */
  list(namespace?: string): readonly T[]
  /** Returns the version of the store. */
  latestResourceVersion(): string
}

/** The longest wait of the comparison for `listFn`'s version, in milliseconds. */
const COMPARED_WITHIN_MS = 60_000

type Callback = (value?: unknown) => void

const VERBS = ['add', 'update', 'delete', 'error', 'connect'] as const
type Verb = (typeof VERBS)[number]

/**
 * `makeInformer` of @kubernetes/client-node with the same signature and events, on the engine of this library: it
 * continues after errors, and misses no deletion. List and watch use `path`, which may have a query
 * (`?fieldSelector=…`), so that both select the same objects.
 *
 * The result of `listFn` is not used. It is called once, after the first list of at most 1 000 objects, and a process
 * warning reports if it selects other objects. As in client-node, the type of the objects is that of `listFn`. The
 * objects are as the API server sends them: `Wire` is their exact type.
 *
 * @returns The informer, which is idle until `start`.
 * @throws OptionError if `kubeConfig` or `listFn` is missing or has another type.
 * @throws TypeError if `path` is not the path of a resource.
 *
 * @example
 * ```ts
 * const informer = makeInformer(kubeConfig, '/api/v1/namespaces/default/pods', () =>
 *   core.listNamespacedPod({ namespace: 'default' }),
 * )
 * informer.on('add', (pod) => console.log(pod.metadata?.name))
 * await informer.start()
 * ```
 */
export function makeInformer<T extends object = KubernetesObject>(
  kubeConfig: KubeConfigLike,
  path: string,
  listFn: () => Promise<{ readonly items: readonly T[] }>,
  labelSelector?: string,
): ClientNodeInformer<T>
/**
 * Returns the same informer for objects of a type that you name, such as `Wire<V1Pod>`, whatever the type of `listFn`.
 */
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
  return dropInInformer<T>(options, path, listFn)
}

function dropInInformer<T extends object>(
  options: KubernetesSourceOptions,
  path: string,
  givenListFn: () => Promise<unknown>,
): ClientNodeInformer<T> {
  /** Undefined after the comparison. */
  let listFn: (() => Promise<unknown>) | undefined = givenListFn
  const callbacksOf = new Map<Verb, Callback[]>(VERBS.map((verb) => [verb, []]))
  /** The delivered objects, by namespace and name. They outlive a stop. */
  const delivered = new Map<string, Map<string, T>>()
  /** Objects that were delivered before a stop and cannot be decoded now. The informer delivers no deletion for them. */
  const unread = new Map<string, T>()
  let current: Informer<T> | undefined
  /** Settles when the first list of `current` is delivered or has failed. */
  let started: Promise<void> | undefined
  let lastVersion = ''

  const list = (namespace?: string): readonly T[] => {
    if (namespace) return [...(delivered.get(namespace)?.values() ?? [])]
    return [...delivered.values()].flatMap((objects) => [...objects.values()])
  }

  /** An error of one callback affects no other callback. It is delivered to the `error` callbacks. */
  const emit = (verb: Verb, value: unknown): void => {
    const callbacks = callbacksOf.get(verb) ?? []
    if (verb === 'error' && callbacks.length === 0) process.emitWarning(value instanceof Error ? value : String(value))
    for (const callback of [...callbacks]) {
      try {
        callback(value)
      } catch (error) {
        if (verb === 'error') process.emitWarning(error instanceof Error ? error : String(error))
        else emit('error', error)
      }
    }
  }

  const remove = (object: T): void => {
    const { name, namespace } = identityOf(object)
    const objects = delivered.get(namespace)
    if (objects?.delete(name) !== true) return
    if (objects.size === 0) delivered.delete(namespace)
    emit('delete', object)
  }

  const put = (object: T): void => {
    const { name, namespace, uid } = identityOf(object)
    const objects = delivered.get(namespace) ?? new Map<string, T>()
    const previous = objects.get(name)
    if (previous !== undefined && identityOf(previous).uid !== uid) remove(previous)
    delivered.set(namespace, objects)
    const isNew = !objects.has(name)
    objects.set(name, object)
    emit(isNew ? 'add' : 'update', object)
  }

  /** Whether it was delivered before a stop. While the informer runs, a replaced object is an update. */
  const isUnchanged = (object: T): boolean => {
    const { name, namespace, uid, resourceVersion } = identityOf(object)
    const before = delivered.get(namespace)?.get(name)
    if (before === undefined) return false
    const known = identityOf(before)
    return known.resourceVersion === resourceVersion && known.uid === uid
  }

  const deliverMissedDeletes = (informer: Informer<T>): void => {
    if (current !== informer) return
    for (const object of list()) {
      const key = keyOf(identityOf(object))
      if (informer.has(key)) continue
      if (informer.invalid.has(key)) unread.set(key, object)
      else remove(object)
    }
  }

  /** Delivers the deletions of objects that could not be decoded. The informer delivers those that can be again. */
  const deliverUnreadDeletes = (informer: Informer<T>): void => {
    if (current !== informer) return
    for (const [key, object] of unread) {
      if (informer.invalid.has(key)) continue
      unread.delete(key)
      if (!informer.has(key)) remove(object)
    }
  }

  /** Warns if `listFn` selects other objects than the path: their absence would otherwise be noticed too late. */
  const compare = async (informer: Informer<T>): Promise<void> => {
    const compared = listFn
    if (compared === undefined || current !== informer) return
    listFn = undefined
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
    const difference = await compareList(mirrored, compared).catch((error: unknown) => {
      emit('error', error)
      return undefined
    })
    await subscription.close()
    if (difference === undefined || current !== informer) return
    process.emitWarning(
      `makeInformer: ${difference} at ${path}. Only the path selects the mirrored objects: put the selectors of listFn into it (?fieldSelector=…&labelSelector=…)`,
    )
  }

  const run = async (): Promise<void> => {
    const informer: Informer<T> = createInformer({
      source: withBatchCallback(kubernetesSource<T>(options), () => deliverUnreadDeletes(informer)),
      freeze: false,
    })
    current = informer
    unread.clear()
    const isFirst = Promise.withResolvers<void>()
    informer.on('error', (error) => {
      // client-node, too, lists again after 410 without an error.
      if (error.code === 'VERSION_EXPIRED' && error.phase === 'watch') return
      emit('error', withStatus(error))
      isFirst.resolve()
    })
    informer.on('status', ({ state }, { state: previous }) => {
      if (state === 'listing' || state === 'relisting' || (state === 'connecting' && previous === 'backing-off'))
        emit('connect', undefined)
    })
    const subscription = informer.subscribe({
      add: ({ object }) => {
        if (!isUnchanged(object)) put(object)
      },
      update: ({ object }) => put(object),
      delete: ({ object }) => remove(object),
    })
    informer.start()
    const synced = subscription.synced().then(
      () => {
        deliverMissedDeletes(informer)
        void compare(informer)
      },
      () => {}, // The informer was stopped first.
    )
    await Promise.race([synced, isFirst.promise])
  }

  return {
    on: (verb: string, callback: (value: never) => void) => {
      for (const each of verbsOf(verb)) callbacksOf.get(each)?.push(callback as Callback)
    },
    off: (verb: string, callback: (value: never) => void) => {
      for (const each of verbsOf(verb)) {
        const callbacks = callbacksOf.get(each) ?? []
        const at = callbacks.indexOf(callback as Callback)
        if (at !== -1) callbacks.splice(at, 1)
      }
    },
    start: async () => {
      if (current === undefined) started = run()
      await started
    },
    stop: async () => {
      const informer = current
      current = undefined
      lastVersion = informer?.version ?? lastVersion
      await informer?.stop()
    },
    get: (name, namespace = '') => delivered.get(namespace)?.get(name),
    list,
    latestResourceVersion: () => current?.version ?? lastVersion,
  }
}

/** Errors of client-node have the HTTP status as `code` if a list fails, and as `statusCode` if a watch fails. */
function withStatus(error: SourceError): Error {
  const code = apiStatusIn(error)?.code
  if (code === undefined) return error
  return Object.assign(new Error(error.message, { cause: error }), { code, statusCode: code })
}

/** Returns the same source, which calls `onBatch` after each batch that the informer has taken. */
function withBatchCallback<T>(source: KubernetesSource<T>, onBatch: () => void): KubernetesSource<T> {
  return {
    ...source,
    async *watch(context) {
      for await (const batch of source.watch(context)) {
        yield batch
        onBatch()
      }
    },
  }
}

function verbsOf(verb: string): readonly Verb[] {
  if (verb === 'change') return ['add', 'update', 'delete']
  const known = VERBS.find((each) => each === verb)
  if (known === undefined) throw new TypeError(`Unknown verb: ${verb}; use change, ${VERBS.join(', ')}`)
  return [known]
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

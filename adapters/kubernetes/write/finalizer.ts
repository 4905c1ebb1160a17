import { SourceError } from '../../../src/contract/errors.js'
import type { ReconcileContext } from '../../../src/subscriptions/controller/controller-types.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import { apiStatusIn } from '../http/api-error.js'
import type { ObjectApi } from './object-api.js'
import type { KubernetesReference } from './object-types.js'

/**
 * The context of a run that has an object.
 *
 * @example
 * ```ts
 * import type { KubernetesObject, ObjectContext } from 'listwatch/kubernetes'
 *
 * // A function for `reconcile` of `writer.finalizer`. `object` is never undefined there.
 * async function publish(key: string, { object, attempt }: ObjectContext<KubernetesObject>): Promise<void> {
 *   console.log(`${key} of generation ${object.metadata.generation}: attempt ${attempt}`)
 * }
 * ```
 */
export type ObjectContext<T> = ReconcileContext<T> & { readonly object: T }

/**
 * The functions of `finalizer`.
 *
 * @example
 * ```ts
 * import { type KubernetesObject, kubernetesWriter } from 'listwatch/kubernetes'
 *
 * declare const dns: { set(name: string): Promise<void>; remove(name: string): Promise<void> }
 * const writer = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator' })
 * const run = writer.finalizer<KubernetesObject>('example.com/dns', {
 *   reconcile: (_key, { object }) => dns.set(object.metadata.name),
 *   cleanup: (_key, { object }) => dns.remove(object.metadata.name), // It may run twice.
 * })
 * ```
 */
export interface FinalizerOptions<T> {
  /** Called for an object that is not being deleted and has the finalizer. */
  readonly reconcile: (key: string, context: ObjectContext<T>) => Promise<void>
  /**
   * Called for an object that is being deleted and has the finalizer. If it rejects, the finalizer stays, and the run
   * is retried. It may be called again after a success, so it must be idempotent.
   */
  readonly cleanup: (key: string, context: ObjectContext<T>) => Promise<void>
}

/** Most requests for one change of the finalizers, if other clients change the object at the same time. */
const MAX_ATTEMPTS = 5
/** The JSON patch was not applied, because a `test` failed (422), or because another write was first (409). */
const CHANGED: readonly (number | undefined)[] = [409, 422]

interface Operation {
  readonly op: 'test' | 'add' | 'remove'
  readonly path: string
  readonly value?: unknown
}

type Plan = (object: unknown, name: string) => readonly Operation[] | undefined

export interface FinalizerNames {
  readonly name: string
  readonly fieldManager: string
}

export function finalizing<T extends KubernetesReference>(
  api: ObjectApi,
  { name, fieldManager }: FinalizerNames,
  { reconcile, cleanup }: FinalizerOptions<T>,
): (key: string, context: ReconcileContext<T>) => Promise<void> {
  /** Sends the patch that `plan` returns for the mirrored object, and if that is old, for the object of the server. */
  const change = async (mirrored: T, plan: Plan, signal: AbortSignal): Promise<void> => {
    const { uid } = metadataOf(mirrored)
    let current: unknown = mirrored
    for (let attempt = 1; ; attempt++) {
      const operations = plan(current, name)
      if (operations === undefined) return
      try {
        await api.object('finalizer', mirrored, {
          verb: 'patch',
          verbs: ['get', 'patch'],
          query: { fieldManager },
          body: [{ op: 'test', path: '/metadata/uid', value: uid }, ...operations],
          contentType: 'application/json-patch+json',
          signal,
        })
        return
      } catch (error) {
        if (isGone(error)) return
        if (!CHANGED.includes(apiStatusIn(error)?.code) || attempt === MAX_ATTEMPTS) throw error
      }
      const request = { verb: 'get', verbs: ['get', 'patch'], signal } as const
      const read = await api.object('finalizer', mirrored, request).catch((error: unknown) => {
        if (!isGone(error)) throw error
      })
      if (metadataOf(read)['uid'] !== uid) return // It was deleted, and perhaps recreated.
      if (isIncomplete(mirrored, read)) throw new TypeError('finalizer: the object lacks its metadata.finalizers')
      current = read
    }
  }

  return async (key, context) => {
    if (!hasObject(context)) return
    const { object, signal } = context
    // The server would refuse each patch, as it does for an object that was recreated.
    if (typeof metadataOf(object)['uid'] !== 'string') throw new TypeError('finalizer: the object has no metadata.uid')
    const isFinalized = finalizersOf(object).includes(name)
    if (isBeingDeleted(object)) {
      if (!isFinalized) return
      await cleanup(key, context)
      await change(object, removal, signal)
    } else if (isFinalized) await reconcile(key, context)
    // The change runs the key again, with the finalizer.
    else await change(object, addition, signal)
  }
}

const addition: Plan = (object, name) => {
  const finalizers = finalizersOf(object)
  if (isBeingDeleted(object) || finalizers.includes(name)) return undefined
  const { resourceVersion } = metadataOf(object)
  // Without the test a finalizer that another process of this controller has added would be added twice.
  const test: Operation = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }
  const path = '/metadata/finalizers'
  if (finalizers.length > 0) return [test, { op: 'add', path: `${path}/-`, value: name }]
  // A transform may have dropped a list that the server has.
  return [test, { op: 'test', path, value: null }, { op: 'add', path, value: [name] }]
}

const removal: Plan = (object, name) => {
  const at = finalizersOf(object).indexOf(name)
  if (at === -1) return undefined
  const path = `/metadata/finalizers/${at}`
  return [
    { op: 'test', path, value: name },
    { op: 'remove', path },
  ]
}

function hasObject<T>(context: ReconcileContext<T>): context is ObjectContext<T> {
  return context.object !== undefined
}

function isGone(error: unknown): boolean {
  return error instanceof SourceError && apiStatusIn(error)?.code === 404
}

function metadataOf(object: unknown): Readonly<Record<string, unknown>> {
  return propertiesOf(propertiesOf(object)['metadata'])
}

function finalizersOf(object: unknown): readonly unknown[] {
  return elementsOf(metadataOf(object)['finalizers'])
}

/** Whether a transform has dropped the finalizers of the mirrored object: the server has others at the same version. */
function isIncomplete(mirrored: unknown, read: unknown): boolean {
  const isSameVersion = metadataOf(mirrored)['resourceVersion'] === metadataOf(read)['resourceVersion']
  return isSameVersion && finalizersOf(mirrored).length !== finalizersOf(read).length
}

function isBeingDeleted(object: unknown): boolean {
  return metadataOf(object)['deletionTimestamp'] !== undefined
}

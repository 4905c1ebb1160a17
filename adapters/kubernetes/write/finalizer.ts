import { SourceError } from '../../../src/contract/errors.js'
import type { ReconcileContext } from '../../../src/subscriptions/controller/controller-types.js'
import { elementsOf, propertiesOf } from '../../common/properties.js'
import { apiStatusIn } from '../http/api-error.js'
import type { FinalizerOptions, ObjectContext } from './finalizer-types.js'
import type { ObjectApi } from './object-api.js'
import type { KubernetesReference } from './object-types.js'

/** Most requests for one change of the finalizers, if other clients change the object at the same time. */
const MAX_ATTEMPTS = 5
/** The JSON patch was not applied, because a `test` failed (422), or because another write was first (409). */
const CHANGED: readonly (number | undefined)[] = [409, 422]

interface Operation {
  readonly op: 'test' | 'add' | 'remove'
  readonly path: string
  readonly value?: unknown
}

type Plan = (object: unknown) => readonly Operation[] | undefined

/** Adds and removes one finalizer of objects. */
export class Finalizer {
  readonly #api: ObjectApi
  readonly #name: string
  readonly #fieldManager: string

  constructor(api: ObjectApi, { name, fieldManager }: { readonly name: string; readonly fieldManager: string }) {
    this.#api = api
    this.#name = name
    this.#fieldManager = fieldManager
  }

  /** The reconcile function that keeps the finalizer on its objects, and calls the functions of the user. */
  wrap<T extends KubernetesReference>({ reconcile, cleanup }: FinalizerOptions<T>) {
    return async (key: string, context: ReconcileContext<T>): Promise<void> => {
      if (!hasObject(context)) return
      const { object, signal } = context
      // The server would refuse each patch, as it does for an object that was recreated.
      if (typeof metadataOf(object)['uid'] !== 'string')
        throw new TypeError('finalizer: the object has no metadata.uid')
      const isFinalized = finalizersOf(object).includes(this.#name)
      if (isBeingDeleted(object)) {
        if (!isFinalized) return
        await cleanup(key, context)
        await this.#change(object, (current) => this.#removal(current), signal)
      } else if (isFinalized) await reconcile(key, context)
      // The change runs the key again, with the finalizer.
      else await this.#change(object, (current) => this.#addition(current), signal)
    }
  }

  #addition(object: unknown): readonly Operation[] | undefined {
    const finalizers = finalizersOf(object)
    if (isBeingDeleted(object) || finalizers.includes(this.#name)) return undefined
    const { resourceVersion } = metadataOf(object)
    // Without the test a finalizer that another process of this controller has added would be added twice.
    const test: Operation = { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }
    const path = '/metadata/finalizers'
    if (finalizers.length > 0) return [test, { op: 'add', path: `${path}/-`, value: this.#name }]
    // A transform may have dropped a list that the server has.
    return [test, { op: 'test', path, value: null }, { op: 'add', path, value: [this.#name] }]
  }

  #removal(object: unknown): readonly Operation[] | undefined {
    const at = finalizersOf(object).indexOf(this.#name)
    if (at === -1) return undefined
    const path = `/metadata/finalizers/${at}`
    return [
      { op: 'test', path, value: this.#name },
      { op: 'remove', path },
    ]
  }

  /** Sends the patch that `plan` returns for the mirrored object, and if that is old, for the object of the server. */
  async #change(mirrored: KubernetesReference, plan: Plan, signal: AbortSignal): Promise<void> {
    const { uid } = metadataOf(mirrored)
    let current: unknown = mirrored
    for (let attempt = 1; ; attempt++) {
      const operations = plan(current)
      if (operations === undefined) return
      try {
        await this.#api.object('finalizer', mirrored, {
          verb: 'patch',
          verbs: ['get', 'patch'],
          query: { fieldManager: this.#fieldManager },
          body: [{ op: 'test', path: '/metadata/uid', value: uid }, ...operations],
          contentType: 'application/json-patch+json',
          signal,
        })
        return
      } catch (error) {
        if (isGone(error)) return
        if (!CHANGED.includes(apiStatusIn(error)?.code) || attempt === MAX_ATTEMPTS) throw error
      }
      const read = await this.#read(mirrored, signal)
      if (metadataOf(read)['uid'] !== uid) return // It was deleted, and perhaps recreated.
      if (isIncomplete(mirrored, read)) throw new TypeError('finalizer: the object lacks its metadata.finalizers')
      current = read
    }
  }

  async #read(object: KubernetesReference, signal: AbortSignal): Promise<unknown> {
    try {
      return await this.#api.object('finalizer', object, { verb: 'get', verbs: ['get', 'patch'], signal })
    } catch (error) {
      if (isGone(error)) return undefined
      throw error
    }
  }
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

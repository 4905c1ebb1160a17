import type { ReconcileContext } from '../../../src/subscriptions/controller-types.js'

/** The context of a run that has an object. */
export type ObjectContext<T> = ReconcileContext<T> & { readonly object: T }

/** The functions of `finalizer`. */
export interface FinalizerOptions<T> {
  /** Called for an object that is not being deleted and has the finalizer. */
  readonly reconcile: (key: string, context: ObjectContext<T>) => Promise<void>
  /**
   * Called for an object that is being deleted and has the finalizer. If it rejects, the finalizer stays, and the run
   * is retried. It may be called again after a success, so it must be idempotent.
   */
  readonly cleanup: (key: string, context: ObjectContext<T>) => Promise<void>
}

import type { ReconcileContext } from '../../../src/subscriptions/controller/controller-types.js'

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

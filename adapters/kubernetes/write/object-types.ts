/**
 * An object as the write helpers need it: its type, its name and its namespace.
 *
 * @example
 * ```ts
 * import type { KubernetesReference } from 'listwatch/kubernetes'
 *
 * // The same as `kubectl` prints: `ConfigMap/shop`. Each object of a mirror fits, and each object to apply.
 * function nameOf({ kind, metadata }: KubernetesReference): string {
 *   return `${kind}/${metadata?.name}`
 * }
 * ```
 */
export interface KubernetesReference {
  /** The group and the version: `apps/v1`, or `v1` for the core group. */
  readonly apiVersion?: string | undefined
  /** The kind: `Pod`. */
  readonly kind?: string | undefined
  /** The name, and the namespace unless the kind has none. */
  readonly metadata?:
    | {
        readonly name?: string | undefined
        readonly namespace?: string | undefined
        readonly uid?: string | undefined
        readonly resourceVersion?: string | undefined
      }
    | undefined
}

/**
 * An object that the server has written.
 *
 * @example
 * ```ts
 * import { kubernetesWriter } from 'listwatch/kubernetes'
 *
 * const writer = kubernetesWriter({ kubeConfig, fieldManager: 'site-operator' })
 * const namespaces = createInformer({ source: kubernetesSource({ kubeConfig, kind: 'Namespace' }) }).start()
 * const { metadata } = await writer.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
 * await namespaces.waitFor(metadata.resourceVersion) // The mark of the write.
 * ```
 */
export interface KubernetesWritten {
  /** The identity and the new version: `informer.waitFor(metadata.resourceVersion)` waits for the mirror. */
  readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string }
}

export interface ObjectNames {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly namespace: string | undefined
  readonly uid: string | undefined
}

/** Throws a TypeError that names the call if the object has no apiVersion, kind or name. */
export function namesOf(call: string, object: KubernetesReference): ObjectNames {
  const { apiVersion, kind, metadata } = Object(object) as KubernetesReference
  const { name, namespace, uid } = metadata ?? {}
  const missing = (what: string): TypeError => new TypeError(`${call}: the object has no ${what}`)
  if (typeof apiVersion !== 'string' || apiVersion === '') throw missing('apiVersion')
  if (typeof kind !== 'string' || kind === '') throw missing('kind')
  if (typeof name !== 'string' || name === '') throw missing('metadata.name')
  return { apiVersion, kind, name, namespace: namespace || undefined, uid: uid || undefined }
}

import { apiSource } from './api-source.js'
import { Credentials } from './http/credentials.js'
import { checkSourceOptions, type KubernetesSourceOptions } from './kubernetes-options.js'
import { type KubernetesNamespaces, NamespaceSet } from './namespace-set.js'
import type { KubernetesObject } from './types/kubernetes-object.js'
import type { KubernetesSource } from './types/kubernetes-source-type.js'

/**
 * Returns a source of the objects of one kind, built-in or custom. It opens no connection before an informer starts it.
 * `T` is the type of the objects, and is not checked. For a type of @kubernetes/client-node use `Wire<V1Pod>`, which
 * has the dates and the names of the API server.
 *
 * @returns The source, for the option `source` of `createInformer`.
 * @throws OptionError for an option that is missing, unknown or wrong.
 *
 * @example
 * ```ts
 * const source = kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod', namespace: 'default' })
 * const pods = createInformer({ source })
 * ```
 */
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & { readonly namespaces?: undefined },
): KubernetesSource<T>
/** Returns one source for each of several namespaces, over one store. */
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & { readonly namespaces: readonly string[]; readonly namespace?: undefined },
): KubernetesNamespaces<T>
/** Returns the sources of these namespaces, or one source of all namespaces if `namespaces` is undefined. */
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & {
    readonly namespaces?: readonly string[] | undefined
    readonly namespace?: undefined
  },
): KubernetesSource<T> | KubernetesNamespaces<T>
export function kubernetesSource<T = KubernetesObject>(
  options: KubernetesSourceOptions & { readonly namespaces?: readonly string[] | undefined },
): KubernetesSource<T> | KubernetesNamespaces<T> {
  checkSourceOptions(options)
  const { namespaces, ...rest } = options
  // All namespaces share them: a plugin runs once, and no namespace changes the cluster before the others.
  const credentials = new Credentials(rest.kubeConfig)
  if (namespaces === undefined) return apiSource<T>(rest, credentials)
  if (rest.namespace !== undefined) throw new TypeError('kubernetesSource: give either "namespace" or "namespaces"')
  return new NamespaceSet<T>(namespaces, (namespace) => {
    checkSourceOptions({ ...rest, namespace })
    return apiSource<T>({ ...rest, namespace }, credentials)
  })
}

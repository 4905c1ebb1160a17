import type { ListerWatcher } from '../../src/contract/source.js'
import { DynamicSourceSet, type SourceSet } from '../../src/informer/sources/source-set.js'

/**
 * One source for each of several namespaces, over one store. Namespaces may be added and removed while an informer
 * runs.
 *
 * @example
 * ```ts
 * const source = kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod', namespaces: ['shop', 'blog'] })
 * const pods = createInformer({ source }).start()
 * source.addNamespace('wiki')
 * source.removeNamespace('blog') // Deletes its pods from the store.
 * ```
 */
export interface KubernetesNamespaces<T> extends SourceSet<T> {
  /**
   * Adds the objects of a namespace to the store.
   *
   * @throws TypeError if the namespace is a member already, or its name is invalid.
   */
  addNamespace(namespace: string): void
  /**
   * Deletes the objects of a namespace from the store.
   *
   * @throws TypeError if the namespace is not a member.
   */
  removeNamespace(namespace: string): void
}

export class NamespaceSet<T> extends DynamicSourceSet<T> implements KubernetesNamespaces<T> {
  readonly #sourceOf: (namespace: string) => ListerWatcher<T>

  constructor(namespaces: readonly string[], sourceOf: (namespace: string) => ListerWatcher<T>) {
    super()
    this.#sourceOf = sourceOf
    for (const namespace of namespaces) this.addNamespace(namespace)
  }

  addNamespace(namespace: string): void {
    this.add(namespace, this.#sourceOf(namespace))
  }

  removeNamespace(namespace: string): void {
    this.remove(namespace)
  }
}

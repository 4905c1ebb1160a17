import { checkOptions, isBoolean, isName } from '../../src/util/validate-options.js'

/**
 * An object with owner references, as every object of Kubernetes may have them.
 *
 * @example
 * ```ts
 * import { ownedBy } from 'listwatch/kubernetes'
 *
 * const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-7d4b' }]
 * const keys = ownedBy('ReplicaSet')({ metadata: { namespace: 'shop', ownerReferences } }) // ['shop/web-7d4b']
 * ```
 */
export interface Owned {
  /** The fields that every object has. */
  readonly metadata?: {
    readonly namespace?: string | undefined
    readonly ownerReferences?: readonly { readonly apiVersion: string; readonly kind: string; readonly name: string }[]
  }
}

/**
 * The options of `ownedBy`.
 *
 * @example
 * ```ts
 * import { ownedBy } from 'listwatch/kubernetes'
 *
 * const keysOfSites = ownedBy('Site', { apiVersion: 'example.com/v1' }) // Not of another group with the kind `Site`.
 * const keysOfNodes = ownedBy('Node', { isNamespaced: false }) // A node has no namespace.
 * ```
 */
export interface OwnedByOptions {
  /** Only owners of this API version, for example `apps/v1`. Default: of any. */
  readonly apiVersion?: string
  /** Whether the owners are in the namespace of the object. Default: true. False for an owner without a namespace. */
  readonly isNamespaced?: boolean
}

/**
 * Returns a function for `watches` of a controller: the keys of the owners of an object, by its owner references.
 *
 * @returns The function, for `keys` of a member of `watches`.
 * @throws OptionError for a wrong option, TypeError if `kind` is not a string.
 *
 * @example
 * ```ts
 * import { createInformer } from 'listwatch'
 * import { kubernetesSource, ownedBy } from 'listwatch/kubernetes'
 *
 * const sets = createInformer({ source: kubernetesSource({ kubeConfig, apiVersion: 'apps/v1', kind: 'ReplicaSet' }) })
 * const pods = createInformer({ source: kubernetesSource({ kubeConfig, kind: 'Pod' }) })
 * sets.reconcile(async (key) => console.log(`scale ${key}`), {
 *   watches: [{ informer: pods, keys: ownedBy('ReplicaSet', { apiVersion: 'apps/v1' }) }],
 * })
 * ```
 */
export function ownedBy(kind: string, options: OwnedByOptions = {}): (object: Owned) => readonly string[] {
  if (isName(kind) !== undefined) throw new TypeError('ownedBy: the kind must be a string that is not empty')
  checkOptions('ownedBy', options, { apiVersion: isName, isNamespaced: isBoolean })
  const { apiVersion, isNamespaced = true } = options
  return ({ metadata }) => {
    const owners = (metadata?.ownerReferences ?? []).filter(
      (owner) => owner.kind === kind && (apiVersion === undefined || owner.apiVersion === apiVersion),
    )
    const namespace = isNamespaced ? metadata?.namespace : undefined
    return owners.map(({ name }) => (namespace === undefined ? name : `${namespace}/${name}`))
  }
}

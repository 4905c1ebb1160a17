/**
 * The fields that @kubernetes/client-node renames: reserved words of TypeScript, and names with a dash. `Wire` renames
 * them back.
 *
 * @example
 * ```ts
 * import type { RenamedFields } from 'listwatch/kubernetes'
 *
 * const sent: RenamedFields['_from'] = 'from'
 * ```
 */
export interface RenamedFields {
  _continue: 'continue'
  _default: 'default'
  _enum: 'enum'
  _from: 'from'
  _int: 'int'
  x_kubernetes_embedded_resource: 'x-kubernetes-embedded-resource'
  x_kubernetes_int_or_string: 'x-kubernetes-int-or-string'
  x_kubernetes_list_map_keys: 'x-kubernetes-list-map-keys'
  x_kubernetes_list_type: 'x-kubernetes-list-type'
  x_kubernetes_map_type: 'x-kubernetes-map-type'
  x_kubernetes_preserve_unknown_fields: 'x-kubernetes-preserve-unknown-fields'
  x_kubernetes_validations: 'x-kubernetes-validations'
}

/**
 * The fields that @kubernetes/client-node renames in JSON schemas only. In other types a field may be named `schema`.
 *
 * @example
 * ```ts
 * import type { RenamedInSchemas } from 'listwatch/kubernetes'
 *
 * const sent: RenamedInSchemas['ref'] = '$ref'
 * ```
 */
export interface RenamedInSchemas {
  ref: '$ref'
  schema: '$schema'
}

/**
 * A type of @kubernetes/client-node as the API server sends its objects: dates are strings, and names are the server's.
 * `kubernetesSource<Wire<V1NetworkPolicy>>` returns rules with `from`, while `V1NetworkPolicy` declares `_from`.
 *
 * **Do not send a mirrored object back as the body of a client-node call.** client-node writes only the names it knows.
 * It drops `from`, and a NetworkPolicy then admits all peers; it drops `default`, and a LimitRange then sets no
 * default. The compiler rejects a `Wire` with its `metadata` because of the dates. It accepts a part without dates,
 * such as `spec`, with the same harm. To change an object, patch the fields to change, or read the object with
 * client-node first.
 *
 * @example
 * ```ts
 * const pods = createInformer({ source: kubernetesSource<Wire<V1Pod>>({ kubeConfig, kind: 'Pod' }) })
 * const startTime = pods.get('default/web-0')?.status?.startTime // A string, while `V1Pod` declares a `Date`.
 * const isOld = startTime !== undefined && Date.now() - Date.parse(startTime) > 3_600_000
 * ```
 */
export type Wire<T> = 0 extends 1 & T // Only of `any`.
  ? T
  : T extends Date
    ? string
    : T extends readonly unknown[]
      ? { [K in keyof T]: Wire<T[K]> }
      : T extends object
        ? {
            [K in keyof T as K extends keyof RenamedFields
              ? RenamedFields[K]
              : 'x_kubernetes_preserve_unknown_fields' extends keyof T
                ? K extends keyof RenamedInSchemas
                  ? RenamedInSchemas[K]
                  : K
                : K]: Wire<T[K]>
          }
        : T

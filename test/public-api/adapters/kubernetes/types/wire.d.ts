/** What @kubernetes/client-node calls otherwise than the API server does: words of TypeScript, and names with a dash. */
export interface RenamedFields {
    _continue: 'continue';
    _default: 'default';
    _enum: 'enum';
    _from: 'from';
    _int: 'int';
    x_kubernetes_embedded_resource: 'x-kubernetes-embedded-resource';
    x_kubernetes_int_or_string: 'x-kubernetes-int-or-string';
    x_kubernetes_list_map_keys: 'x-kubernetes-list-map-keys';
    x_kubernetes_list_type: 'x-kubernetes-list-type';
    x_kubernetes_map_type: 'x-kubernetes-map-type';
    x_kubernetes_preserve_unknown_fields: 'x-kubernetes-preserve-unknown-fields';
    x_kubernetes_validations: 'x-kubernetes-validations';
}
/** The same in a JSON schema only: elsewhere a `schema` is called that. */
export interface RenamedInSchemas {
    ref: '$ref';
    schema: '$schema';
}
type InSchema<T> = 'x_kubernetes_preserve_unknown_fields' extends keyof T ? RenamedInSchemas : {};
type WireName<K, Renamed> = K extends keyof Renamed ? Renamed[K] & PropertyKey : K;
type WireItems<T extends readonly unknown[]> = {
    [K in keyof T]: Wire<T[K]>;
};
type WireFields<T extends object> = {
    [K in keyof T as WireName<K, RenamedFields & InSchema<T>>]: Wire<T[K]>;
};
type IsAny<T> = 0 extends 1 & T ? true : false;
/**
 * A type of @kubernetes/client-node as its objects are mirrored, which is as the API server says them: dates are strings, and
 * names are the server's. `kubernetesSource<Wire<V1NetworkPolicy>>` gives rules with `from`, where `V1NetworkPolicy` claims `_from`.
 *
 * **What is mirrored must not go back as the body of a call of client-node.** That writes only the names it knows: it
 * drops `from`, and a NetworkPolicy lets everybody in; it drops `default`, and a LimitRange sets none. A `Wire` with its
 * `metadata` does not fit there, because of the dates. A part without dates, such as `spec`, does, and does the same harm.
 * To change an object, patch what is to change, or read it with client-node first.
 */
export type Wire<T> = IsAny<T> extends true ? T : T extends Date ? string : T extends readonly unknown[] ? WireItems<T> : T extends object ? WireFields<T> : T;
export {};

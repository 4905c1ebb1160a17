/** An object as the write helpers need it: its type, its name and its namespace. */
export interface KubernetesReference {
    /** The group and the version: `apps/v1`, or `v1` for the core group. */
    readonly apiVersion?: string | undefined;
    /** The kind: `Pod`. */
    readonly kind?: string | undefined;
    /** The name, and the namespace unless the kind has none. */
    readonly metadata?: {
        readonly name?: string | undefined;
        readonly namespace?: string | undefined;
        readonly uid?: string | undefined;
        readonly resourceVersion?: string | undefined;
    } | undefined;
}
/** An object that the server has written. */
export interface KubernetesWritten {
    /** The identity and the new version: `informer.waitFor(metadata.resourceVersion)` waits for the mirror. */
    readonly metadata: {
        readonly name: string;
        readonly uid: string;
        readonly resourceVersion: string;
    };
}
/** The names of one object. */
export interface ObjectNames {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly namespace: string | undefined;
    readonly uid: string | undefined;
}
/** Throws a TypeError that names the call if the object has no apiVersion, kind or name. */
export declare function namesOf(call: string, object: KubernetesReference): ObjectNames;

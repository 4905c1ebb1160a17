/**
 * A resource that the fake server serves.
 *
 * @example
 * ```ts
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * const zone = { apiVersion: 'example.com/v1', kind: 'Zone', plural: 'zones', isNamespaced: false } // Default: true.
 * await using server = await fakeKubernetes({ resources: [zone] })
 * server.put({ apiVersion: 'example.com/v1', kind: 'Zone', metadata: { name: 'eu' } })
 * ```
 */
export interface FakeResource {
    /** The group and the version: `apps/v1`, or `v1` for the core group. */
    readonly apiVersion: string;
    /** The kind: `Site`. */
    readonly kind: string;
    /** The name in paths: `sites`. */
    readonly plural: string;
    /** Whether objects have a namespace. Default: true. */
    readonly isNamespaced?: boolean;
}
export declare const BUILT_IN: readonly FakeResource[];
/** The target of a request. */
export interface Target {
    readonly resource: FakeResource;
    readonly namespace: string | undefined;
    /** Undefined for a collection. */
    readonly name: string | undefined;
    readonly subresource: string | undefined;
}
/** The response of discovery, or the target of the request. */
export declare function targetOf(path: string, resources: readonly FakeResource[]): Target | {
    readonly discovery: object;
};

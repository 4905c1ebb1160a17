import type { KubernetesObject } from '../../adapters/kubernetes/index.js';
/** An object of the fake server. */
export interface FakeObject extends KubernetesObject {
    /** The fields that every object has, and those that a client wrote. */
    readonly metadata: KubernetesObject['metadata'] & {
        readonly generation: number;
        readonly [field: string]: unknown;
    };
    readonly [field: string]: unknown;
}
/** The names of an object. */
export interface FakeReference {
    /** The group and the version: `apps/v1`, or `v1` for the core group. */
    readonly apiVersion: string;
    /** The kind: `Pod`. */
    readonly kind: string;
    /** The name, and the namespace unless the kind has none. */
    readonly metadata: {
        readonly name: string;
        readonly namespace?: string;
    };
}
/** An object to write. The server adds the `uid`, the versions and the times. */
export interface FakeObjectDraft extends FakeReference {
    readonly [field: string]: unknown;
}
/** A JSON object. */
export type Json = Readonly<Record<string, unknown>>;
export declare function jsonOf(value: unknown): Json;
export declare function isSameJson(a: unknown, b: unknown): boolean;

import { type KubeConfigProvider } from './http/credentials.js';
export interface KubernetesSourceOptions {
    /** Your own KubeConfig of @kubernetes/client-node; or what makes one, which is called again where the server refuses it. */
    readonly kubeConfig: KubeConfigProvider;
    /** As in a manifest: `v1` (default), `apps/v1`, `example.com/v1`. */
    readonly apiVersion?: string;
    /** As in a manifest: `Pod`; or give `plural`. */
    readonly kind?: string;
    /** As in a path: `pods`. */
    readonly plural?: string;
    /** Default: all namespaces. */
    readonly namespace?: string | undefined;
    /** `app=web,tier!=cache` */
    readonly labelSelector?: string | undefined;
    /** `status.phase=Running` */
    readonly fieldSelector?: string | undefined;
    /** Only `metadata` of each object, which is all that the server sends then. Default false. */
    readonly metadataOnly?: boolean;
    /** Whether `metadata.managedFields`, who wrote which field, is left out. Default true. */
    readonly stripManagedFields?: boolean;
    /** Whether the server is asked to stream lists, where it can. Default true. */
    readonly streamingLists?: boolean;
    /** Most objects that one request of a list in pages, or of an audit, asks for. Default 500. */
    readonly pageSize?: number;
    /** An object that is larger counts as invalid. Default 16 MiB. */
    readonly maxObjectBytes?: number;
    /**
     * The longest time that one watch stays open, in milliseconds; how long each does is drawn from the upper half. An
     * open watch outlives the rights it was opened with, so that is also how long revoked rights go on. At least 60 000; default 600 000.
     */
    readonly maxWatchMs?: number;
    /**
     * After so many milliseconds without a word the watch goes on over another connection. Default 75 000: the server says where it
     * is once a minute and a little later, and what is less than that takes healthy watches for dead ones.
     */
    readonly heartbeatMs?: number;
    /**
     * After this number of milliseconds without data a request over another connection asks the server what the watch has missed. It
     * finds a half-open connection. It costs two small requests each time. Default 20 000; `false`: never.
     */
    readonly probeMs?: number | false | undefined;
    /** What is not answered for so many milliseconds counts as lost; a list that is not streamed on is read in pages. Default 15 000. */
    readonly stallMs?: number;
}
/** Throws a TypeError that names what is wrong and what is allowed. */
export declare function checkSourceOptions(options: KubernetesSourceOptions & {
    readonly namespaces?: readonly string[] | undefined;
}): void;

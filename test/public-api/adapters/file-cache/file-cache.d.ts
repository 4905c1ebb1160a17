import type { MirrorCache } from '../../src/contract/mirror-cache.js';
/**
 * The options of `fileCache`.
 *
 * @example
 * ```ts
 * import { fileCache } from 'listwatch/file-cache'
 *
 * const cache = fileCache({
 *   path: '/var/cache/shop/orders.cache',
 *   cacheVersion: '2', // Another one for each change of `transform`.
 *   saveEveryMs: 30_000, // Default: 60 000.
 *   encryptionKey: Buffer.from(process.env['CACHE_KEY'] ?? '', 'hex'), // 32 bytes. Default: no encryption.
 * })
 * const informer = createInformer({ source, cache, transform: ({ id, total }: Order) => ({ id, total }) })
 * ```
 */
export interface FileCacheOptions {
    /** The file. Its folder must exist. Each informer needs a file of its own. */
    readonly path: string;
    /**
     * Change it when `schema`, `transform` or a decoder returns other objects than before, or an index function other
     * values: a file of another `cacheVersion` is not used. Default: ''.
     */
    readonly cacheVersion?: string;
    /** Whether readers see the saved objects before the source has confirmed them. Default: false. */
    readonly serveStale?: boolean;
    /** A save begins at the earliest after this time since the last one, in milliseconds. Default: 60 000. */
    readonly saveEveryMs?: number;
    /**
     * A save begins if at least this share of the objects has changed since the last one. Default: 0.1, which is 10 %.
     */
    readonly saveAfterShare?: number;
    /** A save begins after this time in milliseconds, if the version has changed since the last one. Default: 600 000. */
    readonly maxAgeMs?: number;
    /** A key of 32 bytes. The file is encrypted with AES-256-GCM. Default: it is not encrypted. */
    readonly encryptionKey?: Uint8Array;
    /** Allows objects of a source of secrets, such as `Secret`s of Kubernetes. Default: false. */
    readonly secrets?: boolean;
}
/**
 * Returns a cache that keeps the content of one informer in a file. After a restart, the informer resumes its watch at
 * the saved version, instead of listing. A file that is missing, damaged, or of another source costs one list.
 *
 * @returns The cache, for the option `cache` of `createInformer`.
 * @throws OptionError if an option is missing or wrong.
 *
 * @example
 * ```ts
 * import { createInformer } from 'listwatch'
 * import { fileCache } from 'listwatch/file-cache'
 *
 * const orders = createInformer({ source, cache: fileCache({ path: '/var/cache/shop/orders.cache' }) })
 * ```
 */
export declare function fileCache(options: FileCacheOptions): MirrorCache;

import type { MirrorCache } from 'listwatch/adapter'
export interface FileCacheOptions {} // docs/reference/options.md
export declare function fileCache(options: FileCacheOptions): MirrorCache
